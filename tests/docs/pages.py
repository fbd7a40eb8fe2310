"""README and the pages of docs/, taken apart: headings, links, code."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

RUNNABLE = "<!-- runnable -->"
FENCE = re.compile(r"^```([\w-]*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
SOURCE = re.compile(r'<img src="([^"]+)"')
SPAN = re.compile(r"(`+)(.+?)\1", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of code; a runnable one has a comment before it that says so."""

    language: str
    text: str
    runnable: bool


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        before = text[: found.start()].rstrip("\n").rpartition("\n")[2]
        yield Block(found[1], found[2], before == RUNNABLE)


def prose(page: Path) -> str:
    """The page without its blocks of code."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def spans(page: Path) -> list[str]:
    """What stands between backticks in the text."""
    return [" ".join(found[2].split()) for found in SPAN.finditer(prose(page))]


def links(page: Path) -> list[str]:
    text = SPAN.sub("", prose(page))
    return LINK.findall(text) + SOURCE.findall(text)


def anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub names them."""
    headings = re.findall(r"^#{1,6} (.+)$", prose(page), re.MULTILINE)
    return {anchor(heading) for heading in headings}


def anchor(heading: str) -> str:
    text = unicodedata.normalize("NFC", re.sub(r"[`*]", "", heading)).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
