"""Escaping of user text: a name must not become markup, maths, a formula or a terminal escape.

Which characters are special depends on where the text is shown. `html.escape` and the page's template escape
HTML.
"""

import re
import unicodedata

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "∞": r"$\infty$",
    "δ": r"$\delta$",
    "μ": r"$\mu$",
    "η": r"$\eta$",
    "×": r"$\times$",
    "≈": r"$\approx$",
    "’": "'",
}
_MARKDOWN = re.compile(r"[\\`*<|]|~(?=~)|(?<![^\W_])_|_(?![^\W_])|\](?=[(\[:])")  # a_b needs no escape
_TURNS_WRITING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def one_line(text: str) -> str:
    """The text without line breaks, control characters and marks that turn the direction of writing.

    >>> one_line("tea\\x1b[31m\\ncup")
    'tea�[31m cup'
    """
    return "".join(
        "�" if unicodedata.category(sign) in ("Cc", "Cs") or sign in _TURNS_WRITING else sign
        for sign in " ".join(text.split())
    )


def markdown(text: str) -> str:
    """Text for a cell or a paragraph of Markdown, with every special sign escaped.

    >>> print(markdown("a|b *c*"))
    a\\|b \\*c\\*
    """
    return _MARKDOWN.sub(lambda found: f"\\{found[0]}", one_line(text))


def latex(text: str) -> str:
    """Text for LaTeX outside of maths.

    >>> print(latex("50% of x_1"))
    50\\% of x\\_1
    """
    return "".join(_LATEX.get(sign, sign) for sign in one_line(text))


def plot(text: str) -> str:
    """Text for matplotlib, which reads text between two dollar signs as maths.

    >>> print(plot("$x$"))
    \\$x\\$
    """
    return one_line(text).replace("$", r"\$")


def spreadsheet(text: str) -> str:
    """Text for a CSV cell, which a spreadsheet does not take for a formula.

    >>> spreadsheet("=1+1"), spreadsheet("zo-co")
    ("'=1+1", 'zo-co')
    """
    shown = text.replace("\x00", "�")
    return f"'{shown}" if shown.lstrip(" ").startswith(_FORMULA) else shown
