"""Types of arguments that several commands take, with what the parser needs beyond a Python type."""

from typing import Annotated

from cyclopts import Parameter

Flag = Annotated[bool, Parameter(negative=(), show_default=False)]  # off by default; there is no --no-…
Words = Annotated[list[str] | None, Parameter(consume_multiple=True, negative=())]  # one or several
Repeated = Annotated[list[str] | None, Parameter(negative=())]  # the option may be given again
# A number or a list of numbers, which may begin with a minus sign.
Number = Annotated[str | None, Parameter(allow_leading_hyphen=True)]

# For the commands on studies
Url = Annotated[str, Parameter(help="A database URL, or the path of an SQLite file.")]
Name = Annotated[str, Parameter(help="The study's name.")]
Id = Annotated[int, Parameter(help="The trial's number.")]
Json = Annotated[bool, Parameter(negative=(), show_default=False, help="Print JSON.")]
