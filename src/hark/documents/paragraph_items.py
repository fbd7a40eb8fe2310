"""What paragraphs of office files are made of: formatted text, elements around it, and things that are kept."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


class TextFormat(Protocol):
    """The look of a run of text. Equal formats are merged."""

    def write(self, text: str) -> str:
        """The source of a run with this text."""
        ...


@dataclass
class TextRun:
    """Text in one format."""

    text: str
    format: TextFormat


@dataclass
class Wrap:
    """Content in an element: a link, an insertion, a content control."""

    opening: str
    closing: str
    children: "list[Item]"


@dataclass
class Kept:
    """Something that is written as it was: a note's number, a picture, a field."""

    raw: str
    placeholder: bool = False
    """Whether readers see it as a part of the sentence, such as a page number."""
    ordered: bool = False
    """Whether it is one half of something, such as the beginning of a bookmark: such halves keep their order."""
    splits: bool = False
    """Whether it ends a sentence, as tabs do."""
    line_break: bool = False
    """Whether it is a line break, which ends a sentence unless the next line continues in lower case."""


@dataclass
class Half(Kept):
    """The beginning or end of a range, such as a bookmark's."""

    ordered: bool = True
    key: str = ""
    opens: bool = False


Item = TextRun | Wrap | Kept


def emit(items: Iterable[Item]) -> str:
    """The source of items as they are."""
    parts: list[str] = []
    for item in items:
        match item:
            case TextRun():
                parts.append(item.format.write(item.text))
            case Wrap():
                parts += [item.opening, emit(item.children), item.closing]
            case Kept():
                parts.append(item.raw)
    return "".join(parts)


def visible(items: Iterable[Item]) -> str:
    """The text of items."""
    return "".join(
        item.text if isinstance(item, TextRun) else visible(item.children) if isinstance(item, Wrap) else ""
        for item in items
    )
