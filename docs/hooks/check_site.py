"""Find what is wrong with a built site: `python check_site.py site`.

That is what a browser would load from the network, examples of the reference that became quotations, and
links of the page for missing addresses that lead nowhere.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Tags and attributes by which a page loads something at once; <a href> is for the reader to follow.
LOADS = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "use": ("href", "xlink:href"),
}
LOADING_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch", "manifest"}
REMOTE = re.compile(r"\s*(https?:)?//", re.IGNORECASE)
IN_STYLES = re.compile(r"(?:url\(|@import)\s*['\"]?\s*((?:https?:)?//[^'\")\s]+)", re.IGNORECASE)


class Assets(HTMLParser):
    """Addresses on other machines that a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.remote: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        loads = [given.get(name, "") for name in LOADS.get(tag, ())]
        if tag == "link" and LOADING_LINKS & set(given.get("rel", "").lower().split()):
            loads.append(given.get("href", ""))
        self.remote += [address for address in loads if REMOTE.match(address)]
        self.remote += IN_STYLES.findall(given.get("style", ""))


def remote_assets(folder: Path) -> list[str]:
    """One line for each: the file and the address."""
    found: list[str] = []
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".html":
            page, text = Assets(), path.read_text(encoding="utf-8")
            page.feed(text)
            addresses = page.remote + [
                address
                for style in re.findall(r"<style.*?</style>", text, re.DOTALL)
                for address in IN_STYLES.findall(style)
            ]
        elif path.suffix == ".css":
            addresses = IN_STYLES.findall(path.read_text(encoding="utf-8"))
        else:
            continue
        found += [f"{path.relative_to(folder)}: {address}" for address in addresses]
    return found


def garbled_examples(folder: Path) -> list[str]:
    """Pages of the reference with a quotation: `>>>` that is not code becomes three of them."""
    pages = sorted((folder / "reference").glob("*.html"))
    return [page.name for page in pages if "<blockquote" in page.read_text(encoding="utf-8")]


def lost_links(folder: Path) -> list[str]:
    """Addresses in 404.html, which is shown at any depth, that are relative or lead to no file."""
    start = re.search(r"<loc>(.*)index\.html</loc>", (folder / "sitemap.xml").read_text(encoding="utf-8"))
    if start is None:
        return ["sitemap.xml does not say where the site begins: mkdocs.yml needs a site_url"]
    begins = urlsplit(start[1]).path
    addresses = re.findall(r'(?:href|src)="([^"#]+)', (folder / "404.html").read_text(encoding="utf-8"))
    found: list[str] = []
    for address in sorted(set(addresses)):
        parts = urlsplit(address)
        inside = unquote(parts.path).removeprefix(begins) or "index.html"
        if not parts.netloc and not (parts.path.startswith(begins) and (folder / inside).exists()):
            found.append(address)
    return found


def main(folder: str) -> None:
    """Exit with a list of what is wrong; say how many pages were read otherwise."""
    pages = list(Path(folder).rglob("*.html"))
    if not pages:
        sys.exit(f"there are no pages in {folder}")
    if found := remote_assets(Path(folder)):
        sys.exit("the site would load from the network:\n" + "\n".join(found))
    if found := garbled_examples(Path(folder)):
        sys.exit("examples of the reference are shown as quotations:\n" + "\n".join(found))
    if found := lost_links(Path(folder)):
        sys.exit("404.html has links that lead nowhere:\n" + "\n".join(found))
    print(f"{len(pages)} pages in {folder}; nothing is loaded from the network")


if __name__ == "__main__":
    main(*sys.argv[1:])
