"""What mkdocs calls while it builds the site: pages made from the source, links that leave docs/."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from reference_pages import reference_pages
from registry_tables import method_tables, problem_rows

ROOT = Path(__file__).parents[2]


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made: the reference, the root's documents, the examples."""
    pages = {
        **reference_pages(),
        "contributing.md": from_root("CONTRIBUTING.md"),
        "changelog.md": from_root("CHANGELOG.md"),
        "examples.md": examples(),
    }
    for path, text in pages.items():
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


def on_post_build(config: Any) -> None:
    """The search index once more as a script: a page that is opened as a file may fetch nothing else."""
    index = Path(config.site_dir) / "search" / "search_index.json"
    index.with_suffix(".js").write_text(
        f"var __index = {index.read_text(encoding='utf-8')}", encoding="utf-8"
    )
