"""What a long log leads to, kept beside it so that a study is opened without reading all of it again.

A checkpoint holds what `Progress` and the method's state are after the log's first n rows, with the checksum
of row n. That checksum depends on every row before it, and the rows that follow are checked against it: so a
checkpoint of another log, of a longer one or of one that was changed does not fit, and is not used. Neither
is one that other code wrote, or that is not to the byte what was written. Then the log is read from its
beginning, as if there were none: a checkpoint saves time and decides nothing.

It is written on its own, after an answer is safe, by whoever has the method's state at hand; if the database
is busy, not at all.
"""

from collections.abc import Mapping
from typing import Any

from driftopt.plugins import OWN
from driftopt.runtime.own_code import own_code
from driftopt.study import exact_json
from driftopt.study.errors import DamagedLog
from driftopt.study.log import Checkpoint, Log, Reader
from driftopt.study.progress import Progress
from driftopt.study.spec import Spec

EVERY = 5000  # rows, or about 2000 answers: to read and replay them takes a tenth of a second


def possible(spec: Spec) -> bool:
    """Whether it can be known which code computes the study: not that of other packages' methods."""
    return spec.provider == OWN


def resume(progress: Progress, log: Reader, kept: Checkpoint) -> Mapping[str, Any] | None:
    """Bring a `progress` that knows nothing yet to the log's end from a checkpoint, if it fits.

    Returns the method's state at the checkpoint; None: nothing was changed.
    """
    if kept.made_by != own_code():
        return None
    try:
        content = exact_json.loads(kept.content)
        restarts = progress.restarts
        progress.resume(content["progress"], kept.mark)
        progress.follow(log)
    except (DamagedLog, ValueError, KeyError, TypeError):
        progress.begin_anew()  # whatever is wrong with the log itself shows when it is read
        return None
    return content["method"] if progress.restarts == restarts else None


def keep(log: Log, progress: Progress, method: Mapping[str, Any]) -> bool:
    """Write a checkpoint of the present, if that can be done at once; False: it was not."""
    try:
        content = exact_json.dumps({"progress": progress.as_data(), "method": dict(method)})
    except TypeError:  # a step remembers what has no text
        return False
    return log.keep_checkpoint(Checkpoint(*progress.seen, own_code(), content))
