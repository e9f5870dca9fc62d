"""A problem on a grid: judged on it, queried on it, with the right mean."""

import jax
import numpy as np

from driftopt.problems import OnGrid, kink

INNER = kink(3, rng=1)
KEYS = jax.random.split(jax.random.key(0), 4000)


def test_queries_and_judgement_are_those_of_the_inner_problem_at_grid_points():
    problem, x = OnGrid(INNER, 0.5), np.array([0.61, -0.2, 1.4], np.float32)
    deployed, inner = jax.vmap(lambda key: problem.draw(key, x))(KEYS)
    np.testing.assert_array_equal(deployed, np.rint(np.asarray(deployed) / 0.5) * 0.5)
    values = jax.vmap(lambda key: problem.sample(key, x))(KEYS)
    np.testing.assert_allclose(values, jax.vmap(INNER.value)(deployed, inner), rtol=1e-6)
    assert float(problem.objective(x)) == float(INNER.objective(np.array([0.5, 0.0, 1.5], np.float32)))


def test_the_mean_of_roundings_is_the_decision():
    problem, x = OnGrid(INNER, 0.5), np.array([0.61, -0.2, 1.4], np.float32)

    def z(shift):
        deployed = np.asarray(jax.vmap(lambda key: problem.draw(key, x)[0])(KEYS), float)
        error = deployed.std(axis=0, ddof=1) / np.sqrt(len(KEYS))
        return np.abs((deployed.mean(axis=0) - x - shift) / error).max()

    assert z(0.0) < 5.1
    assert z(0.05) > 8  # a tenth of a step would be seen
