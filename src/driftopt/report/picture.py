"""Writing a picture: it is drawn in memory, then written completely or not at all."""

import io
from pathlib import Path
from typing import Any

from driftopt import checks
from driftopt.runtime.files import write_whole


def write_picture(figure: Any, path: Any, *, name: str = "path", dpi: int = 150) -> Path:
    """Write a matplotlib Figure and return its path; the suffix sets the format.

    Args:
        figure: the Figure.
        path: the file.
        name: the name of the path in errors.
        dpi: pixels an inch.

    Raises:
        ValueError: the path is not valid, or matplotlib has no format with its suffix.
        WriteError: the file cannot be written; an older one is unchanged.
    """
    target, file = checks.path(name, path), io.BytesIO()
    kind, known = target.suffix[1:], figure.canvas.get_supported_filetypes()
    if kind not in known:
        raise ValueError(f"{name} must end in one of .{', .'.join(known)}; got {checks.brief(str(target))}")
    figure.savefig(file, format=kind, dpi=dpi)
    write_whole(target, file.getvalue())
    return target
