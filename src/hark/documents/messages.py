"""Messages of programs: placeholders must come through a translation; ICU plurals and tags stay as they are."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hark.documents.inline_tree import InlineTree
from hark.documents.markup_tokens import pair_up, tokenise
from hark.documents.placing import place
from hark.text.rewrite import Span
from hark.text.shapes import SHAPES
from hark.translate.align import Link

_GLUED = r"%(?:\d+\$|\(\w+\))?[-+0\#]{0,3}\d*(?:\.\d+)?l{0,2}[sd@]"
PLACEHOLDER = re.compile("|".join([*(pattern for kind, pattern in SHAPES if kind == "placeholder"), _GLUED]))
"""Placeholders of printf, Python, Java, .NET, JavaScript and template languages: as the translator protects them, and
those of printf with a letter after them, which only messages have ("%dpx")."""
_CHOICE = re.compile(r"\{\s*\w+\s*,\s*(?:plural|select|selectordinal|choice)\s*,")
_IDENTIFIER = re.compile(
    r"[a-z][a-z\d]*(?:[A-Z][a-z\d]*)+|\w+(?:(?:[_\\#@]|::?)\w+)+|_+\w+|[\w-]+(?:\.[\w-]+)+|[a-z\d]+(?:-[a-z\d]+)+|"
    r"[A-Z\d]*\d[A-Z\d]*|#[\da-fA-F]{3,8}|[\da-fA-F]{8,}(?:-[\da-fA-F]+)*|\d[\d.,:TZ+/-]*|[a-z]+:\S+|\S+@\S+|"
    r"(?:~|\.{0,2})/\S*|[A-Za-z]:\\\S*|(?:[\w-]+/)+[\w.-]+\.\w+|\w+(?:/\w+){2,}"
)


def find_placeholders(text: str) -> list[str]:
    """The placeholders of a message, in order."""
    return [match[0] for match in PLACEHOLDER.finditer(text)]


def has_words(text: str) -> bool:
    """Whether there is anything to translate besides placeholders."""
    return any(map(str.isalpha, PLACEHOLDER.sub("", text)))


def keeps_placeholders(source: str, translation: str) -> bool:
    """Whether a translation has exactly the placeholders of its source, in any order."""
    return Counter(find_placeholders(source)) == Counter(find_placeholders(translation))


def is_identifier(text: str) -> bool:
    """Whether a text is a name, an address or a number rather than language: my_key, a/b.png, #ff0000, fooBar."""
    return not any(map(str.isalpha, text)) or (" " not in text.strip() and bool(_IDENTIFIER.fullmatch(text.strip())))


@dataclass(frozen=True)
class Message:
    """The text of a message without the white space around it, and with its tags and choices taken out."""

    raw: str
    tree: InlineTree
    lead: str
    tail: str
    write: Callable[[str], str] = str
    """Escapes text between the tags."""

    @property
    def text(self) -> str:
        return self.tree.text

    @property
    def tagged(self) -> bool:
        return self.tree.tagged

    @property
    def translatable(self) -> bool:
        return has_words(self.text)

    def fill(self, translation: str, links: Sequence[Link]) -> str | None:
        """Return the translated message; None if a placeholder is missing or too many."""
        if translation == self.text:
            return self.raw
        if not keeps_placeholders(self.text, translation):
            return None
        return self.lead + place(self.tree.root, self.text, translation, links, self.write) + self.tail


@dataclass(frozen=True)
class EncodedMessage:
    """A message as a file has it, quoted and escaped; a translation that lost a placeholder is not written."""

    raw: str
    message: Message
    encode: Callable[[str], str]
    """Quotes and escapes another message in the same way."""

    @property
    def text(self) -> str:
        return self.message.text

    @property
    def tagged(self) -> bool:
        return self.message.tagged

    def fill(self, translation: str, links: Sequence[Link]) -> str:
        filled = self.message.fill(translation, links)
        return self.raw if filled is None or filled == self.message.raw else self.encode(filled)


def read_message(raw: str, kept: re.Pattern[str] | None = None) -> Message:
    """Read a message: HTML tags are placed by alignment, ICU plurals and selections are placeholders.

    So is what matches `kept`, for placeholders that only one kind of file has.
    """
    inner = raw.strip()
    start = raw.find(inner)
    tree, end = InlineTree(raw), 0
    for span in sorted((*_find_choices(inner), *(found.span() for found in (kept.finditer(inner) if kept else ())))):
        if span[0] < end:
            continue
        _add_tags(tree, inner[end : span[0]])
        tree.add_placeholder(inner[slice(*span)])
        end = span[1]
    _add_tags(tree, inner[end:])
    return Message(raw, tree, raw[:start], raw[start + len(inner) :])


def _find_choices(text: str) -> Iterator[Span]:
    """Yield the spans of ICU plurals and selections, with the messages nested in them."""
    end = 0
    for found in _CHOICE.finditer(text):
        if found.start() < end:
            continue
        depth = 0
        for brace in re.compile(r"[{}]").finditer(text, found.start()):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                end = brace.end()
                yield found.start(), end
                break
        else:  # it is not closed
            return


def _add_tags(tree: InlineTree, raw: str) -> None:
    tokens = list(tokenise(raw, html=False))
    partners = pair_up(tokens)
    for number, token in enumerate(tokens):
        if token.kind == "text":
            tree.add_text(token.raw)
        elif partners[number] > number:
            tree.open(token.raw)
        elif partners[number] >= 0:
            tree.close(token.raw)
        else:
            tree.add_mark(token.raw, ordered=token.kind in ("open", "close"))
