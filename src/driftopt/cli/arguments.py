"""The kinds of arguments that several commands take: what the parser must know beyond a Python type."""

from typing import Annotated

from cyclopts import Parameter

Flag = Annotated[bool, Parameter(negative=(), show_default=False)]  # off unless given; there is no --no-…
Words = Annotated[list[str] | None, Parameter(consume_multiple=True, negative=())]  # one or several
Repeated = Annotated[list[str] | None, Parameter(negative=())]  # the option may be given again
# A number, or a list of numbers, may begin with a minus sign.
Number = Annotated[str | None, Parameter(allow_leading_hyphen=True)]
