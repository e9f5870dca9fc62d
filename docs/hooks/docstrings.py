"""What the reference makes of the source: examples are code, fields are listed with their comments."""

import ast
import importlib
import inspect
import re
from typing import Any

import griffe
from field_comments import described, named_in

EXAMPLE = re.compile(r"^( *)>>> .*(?:\n.*\S.*)*", re.MULTILINE)  # to the next empty line, as doctest reads it
FLAGS = re.compile(r"\s*# doctest: .*")


class Shown(griffe.Extension):
    """Changes docstrings before they are parsed; the source stays as it is."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Examples anywhere, not under `Examples:` alone, are code."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)

    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        """A function that takes a record's fields as its arguments is shown with these."""
        if func.docstring is None or not any(str(one.value).startswith("takes(") for one in func.decorators):
            return
        real = getattr(importlib.import_module(func.module.path), func.name)
        func.docstring.value = real.__doc__
        func.parameters = griffe.Parameters(
            *(
                griffe.Parameter(
                    one.name,
                    kind=griffe.ParameterKind[one.kind.name.lower()],
                    annotation=inspect.formatannotation(one.annotation),
                    default=None if one.default is one.empty else repr(one.default),
                )
                for one in inspect.signature(real).parameters.values()
            )
        )

    def on_class_members(self, *, node: Any, cls: griffe.Class, agent: Any, **_: Any) -> None:
        """Fields are listed with what their comments say."""
        if cls.docstring is None or not isinstance(node, ast.ClassDef):
            return
        fields = {
            name: comment + default(cls, name)
            for name, comment in described(node, agent.code).items()
            if comment and not named_in(cls.docstring.value, name)
        }
        if fields:
            entries = "\n".join(f"    {name}: {text}" for name, text in fields.items())
            cls.docstring.value = f"{cls.docstring.value.rstrip()}\n\nAttributes:\n{entries}\n"


def default(cls: griffe.Class, name: str) -> str:
    """What a field is unless told otherwise, where no signature says it."""
    value = getattr(cls.members[name], "value", None)
    if value is None or "dataclass" in cls.labels or any("module" in str(d.value) for d in cls.decorators):
        return ""
    enumeration = any("Enum" in str(base) for base in cls.bases)
    return f": `{value}`" if enumeration else f" (default: `{value}`)"


def fenced(text: str) -> str:
    """Every `>>>` example of a docstring as a block of code.

    >>> fenced("It is so:\\n\\n>>> 1 + 1\\n2").splitlines()
    ['It is so:', '', '```pycon', '>>> 1 + 1', '2', '```']
    """

    def block(found: re.Match[str]) -> str:
        code = FLAGS.sub("", found[0]).replace("<BLANKLINE>", "")
        return f"{found[1]}```pycon\n{code}\n{found[1]}```"

    return text if "```pycon" in text else EXAMPLE.sub(block, text)
