"""Foreign text made harmless where it is shown: a name must not become markup, maths, a formula or an escape.

A name may hold anything that its door lets in; what is special depends on where it is shown. HTML is escaped
by `html.escape` and by the page's template.
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
    spaced = " ".join(text.split())
    return "".join("�" if _invisible(sign) else sign for sign in spaced)


def markdown(text: str) -> str:
    """Text for a cell or a paragraph of Markdown, every sign standing for itself.

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
    """Text for matplotlib, which reads what stands between two dollar signs as maths.

    >>> print(plot("$x$"))
    \\$x\\$
    """
    return one_line(text).replace("$", r"\$")


def spreadsheet(text: str) -> str:
    """Text for a CSV cell, which a spreadsheet would compute if it began like a formula.

    >>> spreadsheet("=1+1"), spreadsheet("zo-co")
    ("'=1+1", 'zo-co')
    """
    shown = text.replace("\x00", "�")
    return f"'{shown}" if shown.lstrip(" ").startswith(_FORMULA) else shown


def _invisible(sign: str) -> bool:
    """Control characters, lone surrogates, and marks that turn the direction of writing."""
    return unicodedata.category(sign) in ("Cc", "Cs") or sign in _TURNS_WRITING
