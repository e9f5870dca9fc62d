"""What mkdocs calls while it builds the site: pages made from the source, links that leave docs/."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from reference_pages import reference_pages
from registry_tables import method_tables, problem_rows

ROOT = Path(__file__).parents[2]


def on_config(config: Any) -> Any:
    """Leave out of the menu the pages that are announced in `extra.to_come` and not written yet."""
    missing = {page for page in config.extra["to_come"] if not (ROOT / "docs" / page).exists()}
    config.nav = [pruned for item in config.nav if (pruned := prune(item, missing))]
    return config


def prune(item: Any, missing: set[str]) -> Any:
    """The part of a menu entry that leads to pages which exist; None where nothing is left."""
    if isinstance(item, str):
        return None if item in missing else item
    if isinstance(item, list):
        return [pruned for part in item if (pruned := prune(part, missing))] or None
    ((title, below),) = item.items()
    pruned = prune(below, missing)
    return {title: pruned} if pruned else None


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made: the reference, the root's documents, the examples."""
    made = {
        **reference_pages(),
        "contributing.md": from_root("CONTRIBUTING.md"),
        "changelog.md": from_root("CHANGELOG.md"),
        "examples.md": examples(),
    }
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def from_root(name: str) -> str:
    """A document of the repository's root, its links as seen from docs/."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.sub(r"\]\(docs/", "](", text)


def examples() -> str:
    """Every example in full, under its file name."""
    lines = ["# Examples", "", "Each runs as it stands, from the repository's root; the tests run them too."]
    for path in sorted((ROOT / "examples").iterdir()):
        if path.suffix in (".py", ".toml"):
            code = path.read_text(encoding="utf-8").rstrip()
            language = "python" if path.suffix == ".py" else "toml"
            lines += ["", f"## {path.name}", "", f"```{language}", code, "```"]
    return "\n".join(lines) + "\n"


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Put the registry's tables where a page asks for them; lead links to examples to their page."""
    up = "../" * page.file.src_uri.count("/")

    def example(link: re.Match[str]) -> str:
        return f"]({up}examples.md#{re.sub(r'[^a-z0-9_-]', '', link[1].lower())})"

    markdown = re.sub(r"\]\((?:\.\./)+examples/([\w.]+)\)", example, markdown)
    markdown = markdown.replace("<!-- the registry's problems -->", problem_rows())
    return markdown.replace("<!-- the registry's methods -->", method_tables())
