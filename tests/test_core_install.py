"""What `pip install driftopt` gives without JAX: live studies, the model, the service; else one sentence."""

import os
import subprocess
import sys
import textwrap

import pytest

# Importing JAX fails here as it does where it is not installed.
WITHOUT_JAX = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("jax", "jaxlib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])

sys.meta_path.insert(0, Absent())
import driftopt
url, fun = "sqlite:///" + sys.argv[1], lambda x: float(((x - 1) ** 2).sum())
"""
CORE = {
    "study": """
study = driftopt.Study.create(url, "tea", x0=[3.0, 4.0], bounds=[(1, 9), (1, 9)])
for _ in range(3):
    trial = study.ask()
    study.tell(trial.id, fun(trial.x))
again = driftopt.Study.open(url, "tea")
assert again.recommend().x.shape == (2,) and "tea" in repr(again.summary())
""",
    "minimize": """
result = driftopt.minimize(fun, [0.0, 3.0], budget=12, rng=0)
assert result.success and result.params["method"] == "model"
""",
    "command": """
from driftopt.cli import main
def run(*words):
    sys.argv[1:] = words
    main()
run("study", "create", url, "mug", "--x0", "3,4", "--bounds", "1:9,1:9")
run("study", "ask", url, "mug")
run("study", "show", url, "mug")
""",
    "service": """
import os
from support.servers import SECRET, serving, settings
os.environ["DRIFTOPT_TOKEN"] = SECRET
with serving(settings(url)) as (address, _):
    study = driftopt.Study.create(address, "tea", x0=[3.0, 4.0], bounds=[(1, 9), (1, 9)])
    study.tell(study.ask().id, 2.0)
    study.recommend()
""",
    "packages": "import driftopt.model.policy, driftopt.space.grid, driftopt.theory",
}
NEEDING = [
    "driftopt.simulate",
    "driftopt.methods.get('walk', radius=1.0)",
    "driftopt.problems.kink(3)",
    "from driftopt.methods import registry",
    "from driftopt.sweep import run",
    "driftopt.minimize(fun, [0.0, 3.0], budget=2000, rng=0)",
    "driftopt.minimize(fun, [0.0, 3.0], budget=20, radius=0.5, method='walk')",
    "driftopt.Study.create(url, 'mug', x0=[3.0, 4.0], radius=0.5, method='walk', budget=100).ask()",
]


def ran(folder, *programs):
    """The output of a process that has no JAX."""
    code = "\n".join([WITHOUT_JAX, *programs, "assert 'jax' not in sys.modules"])
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder / "studies.db")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("part", CORE)
def test_the_core_works_without_jax(part, tmp_path):
    ran(tmp_path, CORE[part])


def test_what_needs_jax_says_in_a_sentence_what_to_install(tmp_path):
    attempts = "\n".join(
        f"try:\n{textwrap.indent(call, '    ')}\n    print('nothing was missing')\n"
        f"except ModuleNotFoundError as error:\n    print(error)"
        for call in NEEDING
    )
    sentences = ran(tmp_path, attempts).splitlines()
    assert len(sentences) == len(NEEDING)
    wrong = [
        (call, sentence)
        for call, sentence in zip(NEEDING, sentences, strict=True)
        if not sentence.endswith("needs JAX: pip install 'driftopt[simulate]'")
    ]
    assert not wrong
