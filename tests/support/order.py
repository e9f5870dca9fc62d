"""The order of tests: all that are for one method one after another, whatever their files.

They need the same programs, and half of a program's time is not kept between processes: to trace it and to
write it down. Workers get neighbours, so that in this order each makes the programs of its own methods; in
the order of files each would make those of all.
"""

import pytest

from driftopt import methods, problems


def by_subject(items: list[pytest.Item]) -> None:
    """Move tests for a problem, and then those for a method, behind the others, each name's together."""
    kinds = dict.fromkeys(problems.names(), 1) | dict.fromkeys(methods.names(), 2)

    def place(item: pytest.Item) -> tuple[int, str]:
        callspec = getattr(item, "callspec", None)
        given = callspec.params if callspec else {}
        name = given.get("any_name", given.get("name"))
        kind = kinds.get(name, 0) if isinstance(name, str) else 0
        return kind, name if kind else ""

    items.sort(key=place)
