"""Make pages and notebooks of the gallery: `python docs/hooks/gallery.py [NAME…]`.

The scripts of examples/gallery are in percent format: `# %% [markdown]`
begins text, `# %%` begins code. A page is docs/gallery/NAME.md, a notebook
examples/gallery/NAME.ipynb, both with the outputs. Pictures go to docs/img.
"""

import ast
import base64
import contextlib
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SCRIPTS, PAGES, IMAGES = (ROOT / "examples" / "gallery", ROOT / "docs" / "gallery", ROOT / "docs" / "img")


NOTEBOOKS = "https://github.com/driftopt/driftopt/blob/main/examples/gallery"


def cells(script: str) -> list[tuple[str, str]]:
    """The cells of a script, in order: ("markdown" or "code", text).

    >>> cells("# %% [markdown]\\n# Title\\n\\n# %%\\n1 + 1\\n")
    [('markdown', 'Title'), ('code', '1 + 1')]
    """
    found = []
    for part in re.split(r"^# %%", script, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        if "[markdown]" in head:
            found.append(("markdown", re.sub(r"^# ?", "", body.strip(), flags=re.MULTILINE)))
        else:
            found.append(("code", body.strip()))
    return found


def run(code: str, names: dict[str, Any]) -> tuple[str, list[bytes]]:
    """What a cell prints, and the pictures that it draws as PNG."""
    import matplotlib.pyplot as plt

    printed, pictures = io.StringIO(), []
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.parse(code), "gallery", "exec"), names)
    for number in plt.get_fignums():
        stream = io.BytesIO()
        plt.figure(number).savefig(stream, format="png", dpi=110, metadata={"Software": None})
        pictures.append(stream.getvalue())
    plt.close("all")
    return printed.getvalue(), pictures


def write(name: str) -> None:
    """The page, the notebook and the pictures of one script."""
    names: dict[str, Any] = {"__name__": "__main__"}
    page, notebook, drawn = [], [], 0
    for number, (kind, text) in enumerate(cells((SCRIPTS / f"{name}.py").read_text(encoding="utf-8"))):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"{name}-{number}", "metadata": {}}
        notebook.append(cell | {"source": text.splitlines(keepends=True)})
        if kind == "markdown":
            page.append(text)
            continue
        printed, pictures = run(text, names)
        outputs: list[Any] = []
        page.append(f"```python\n{text}\n```")
        if printed:
            lines = printed.splitlines(keepends=True)
            outputs.append({"output_type": "stream", "name": "stdout", "text": lines})
            page.append(f"<!-- numbers vary -->\n\n```text\n{printed.rstrip()}\n```")
        for picture in pictures:
            drawn += 1
            (IMAGES / f"gallery_{name}_{drawn}.png").write_bytes(picture)
            data = {"image/png": base64.b64encode(picture).decode(), "text/plain": ["<Figure>"]}
            outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
            page.append(f"![The picture drawn by the cell above](../img/gallery_{name}_{drawn}.png)")
        notebook[-1] |= {"execution_count": number, "outputs": outputs}
    page.append(
        f"*Made by `python docs/hooks/gallery.py` from `examples/gallery/{name}.py`; "
        f"[open it as a notebook]({NOTEBOOKS}/{name}.ipynb).*"
    )
    PAGES.mkdir(exist_ok=True)
    (PAGES / f"{name}.md").write_text("\n\n".join(page) + "\n", encoding="utf-8")
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": notebook, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    text = json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
    (SCRIPTS / f"{name}.ipynb").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    for chosen in sys.argv[1:] or sorted(path.stem for path in SCRIPTS.glob("*.py")):
        write(chosen)
