"""All that a session knows, for comparison with another one."""

from typing import Any

import numpy as np


def known(session: Any) -> Any:
    """What the log says, what the method was told of it, and what is recommended."""
    state = session.read(lambda: session.state)
    plain = {name: value for name, value in vars(state).items() if name not in ("spec", "_last", "entries")}
    plain["trials"] = [repr(vars(one)) for one in state.entries.values()]
    told: list[bytes] = []
    if not session.spec.uses_model:
        steps = [np.asarray(step).tobytes() for step in session.rule.steps(state, session.clock())]
        told = [*steps, session.rule.decisions(state, session.clock()).tobytes()]
    return plain, told, session.recommendation(session.context(None))[0].tobytes()
