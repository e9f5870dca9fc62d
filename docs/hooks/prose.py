"""Check how plainly the pages speak: `python docs/hooks/prose.py`, which `make docs` runs.

Pages are README.md and docs/**/*.md; of code blocks only the width counts. `--list` prints every phrase.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PHRASES = 1.0  # at most, in a thousand words
SENTENCE = 16.0  # words on average, at most
LONGEST = 35  # words of any sentence
WIDTH = 78  # columns of a code block: what the site shows without scrolling
AVOID = {
    "significantly different, or tied": r"\btold? (?:it |them )?apart\b",
    "with, next to, in addition": r"\bbeside\b",
    "reported, recorded": r"\b(?:is|are|was|were|be|been|values?|answers?) told\b"
    r"|\btold (?:beside|at|to|with|twice|so)\b",
    "is": r"\b(?:stands?|stood) (?:beside|below|in|here|there|for|against|before|at)\b",
    "except": r"\bbut for\b",
    "again, also, permanently, anyway": r"\banew\b|\blikewise\b|\bfor ever\b|\ball the same\b",
    "by default": r"\bunless (?:told|given)\b|\bif not given\b",
    "identical": r"\bto the (?:last )?bit\b",
    "name the actor": r"\bwhoever\b|\bthose (?:that|who)\b",
    "name the thing": r"(?:^|[.;:] |\")What (?!is |are |does |do |can |if |happens |you )"
    r"[a-z][^.?]{3,80} (?:is|are|has|goes|stands)\b",
    "is not a": r"\b(?:is|are) no (?!longer|more|way|need|further|less|worse|better|such)[a-z]",
    "give the number": r"\bso many\b|\bso (?:few|long) \w+\b",
    "version": r"\beditions?\b",
    "the public interface, when it is called": r"\b(?:front doors?|at the door)\b",
    "together, or immediately": r"\bat once\b",
}


def prose(text: str) -> str:
    """A page without its code blocks, comments and the front matter; line numbers stay."""
    blank = lambda found: "\n" * found.group().count("\n")  # noqa: E731
    return re.sub(r"\A---\n.*?\n---\n|```.*?```|<!--.*?-->", blank, text, flags=re.DOTALL)


def sentences(text: str) -> list[str]:
    """The sentences of running text: headings, tables, pictures, HTML and indented formulas are left out."""
    running = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line for line in paragraph.splitlines() if not re.match(r"#|\||<|!\[|    |\s*$", line)]
        items = re.split(r"\n(?=\s*(?:[-*]|\d+\.) )", "\n".join(lines))
        running += [re.sub(r"^\s*(?:[-*]|\d+\.) ", "", item) for item in items]
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)|[*_`]", r"\1", item).replace("\n", " ") for item in running]
    cut = [part for item in plain for part in re.split(r"(?<=[.!?:])\s+(?=[A-Z“\"(δξγβ0-9`])", item)]
    return [part for part in cut if len(part.split()) > 2]


def code_lines(text: str) -> list[str]:
    """The lines of code blocks; outputs and other text blocks are left out."""
    found, language = [], None
    for line in text.splitlines():
        if fence := re.match(r" *```(\w*)", line):
            language = None if language is not None else fence[1]
        elif language not in (None, "text"):
            found.append(line)
    return found


def main() -> None:
    """Exit with what is wrong; print the figures otherwise."""
    wrong, listed, words, phrases, lengths = [], [], 0, 0, []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        name, text = str(page.relative_to(ROOT)), page.read_text(encoding="utf-8")
        plain = prose(text)
        words += len(plain.split())
        for advice, pattern in AVOID.items():
            for found in re.finditer(pattern, plain, re.IGNORECASE | re.MULTILINE):
                phrases += 1
                line = plain[: found.start()].count("\n") + 1
                listed.append(f"{name}:{line}: {found.group()!r}: say {advice}")
        for sentence in sentences(plain):
            lengths.append(len(sentence.split()))
            if lengths[-1] > LONGEST:
                wrong.append(f"{name}: {lengths[-1]} words, at most {LONGEST}: {sentence[:90]}…")
        code = code_lines(text)
        wrong += [f"{name}: {len(c)} columns, at most {WIDTH}: {c.strip()}" for c in code if len(c) > WIDTH]
        wrong += [f"{name}: a prompt would be copied: {c}" for c in code if re.match(r"(?:\$|>>>) ", c)]
    rate, mean = 1000 * phrases / words, sum(lengths) / len(lengths)
    if rate > PHRASES:
        wrong += [f"{rate:.1f} phrases to avoid in a thousand words, at most {PHRASES}", *listed]
    if mean > SENTENCE:
        wrong.append(f"{mean:.1f} words in a sentence on average, at most {SENTENCE}")
    print(f"pages: {words:,} words, {rate:.1f} phrases to avoid in a thousand, {mean:.1f} words a sentence")
    if "--list" in sys.argv:
        print("\n".join(listed))
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
