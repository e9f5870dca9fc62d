"""What mkdocs calls while it builds the site: pages made from the source."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from reference_pages import reference_pages
from registry_tables import http_page, method_tables, problem_rows, study_options

ROOT = Path(__file__).parents[2]


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made: the reference, the command line, the root's documents."""
    pages = {
        **reference_pages(),
        "contributing.md": from_root("CONTRIBUTING.md"),
        "changelog.md": from_root("CHANGELOG.md"),
        "security.md": from_root("SECURITY.md"),
        "reference/cli.md": command_line(),
        "reference/http.md": http_page(),
    }
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def from_root(name: str) -> str:
    """A document of the repository's root, its links as seen from docs/."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.sub(r"\]\(docs/", "](", text)


def command_line() -> str:
    """Every command with its help, as `--help` prints it."""
    from driftopt.cli import app

    text = app.generate_docs(recursive=True, heading_level=1, include_hidden=False)
    text = re.sub(r"## Table of Contents.*?(?=\*\*Commands)", "", text, flags=re.DOTALL)
    text = re.sub(r" -m mkdocs\b", "", text)  # the program that runs, to cyclopts
    return re.sub(r"\A# .*", "# Command line", text)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the registry's tables where a page asks for them."""
    markdown = markdown.replace("<!-- the registry's problems -->", problem_rows())
    markdown = markdown.replace("<!-- the options of a study -->", study_options())
    return markdown.replace("<!-- the registry's methods -->", method_tables())


def on_post_build(config: Any) -> None:
    """The search index once more as a script: a page that is opened as a file may fetch nothing else."""
    index = Path(config.site_dir) / "search" / "search_index.json"
    index.with_suffix(".js").write_text(
        f"var __index = {index.read_text(encoding='utf-8')}", encoding="utf-8"
    )
