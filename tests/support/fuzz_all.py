"""Every entry by its name."""

from pathlib import Path

from support.fuzz import Entry
from support.fuzz_commands import commands
from support.fuzz_entries import in_python
from support.fuzz_files import files
from support.fuzz_numbers_and_studies import numbers, studies


def entries(folder: Path) -> dict[str, Entry]:
    """In Python, on the command line, and files that are read."""
    groups = (in_python, numbers, studies, files, commands)
    return {name: entry for group in groups for name, entry in group(folder).items()}
