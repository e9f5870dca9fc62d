"""The one way to write a picture: drawn in memory, then all of it or nothing."""

import io
from pathlib import Path
from typing import Any

from driftopt import checks
from driftopt.runtime.files import write_whole


def write_picture(figure: Any, path: Any, *, name: str = "path", dpi: int = 150) -> Path:
    """Write a matplotlib Figure; the suffix says in which format.

    Args:
        figure: the Figure.
        path: where the file shall be.
        name: what an error calls the path.
        dpi: points an inch, for formats made of points.

    Raises:
        ValueError: the path is none, or its suffix names no format of matplotlib's.
        WriteError: the file cannot be written; an older one is untouched.
    """
    target, file = checks.path(name, path), io.BytesIO()
    kind, known = target.suffix[1:], figure.canvas.get_supported_filetypes()
    if kind not in known:
        raise ValueError(f"{name} must end in one of .{', .'.join(known)}; got {checks.brief(str(target))}")
    figure.savefig(file, format=kind, dpi=dpi)
    write_whole(target, file.getvalue())
    return target
