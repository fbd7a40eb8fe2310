"""XLIFF 1.2 and 2: fills in missing targets; existing translations, notes and layout stay byte for byte."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hark.documents.document import Document, DocumentError, ReadingOptions, Segment, SegmentTranslation
from hark.documents.encoding import DecodedText
from hark.documents.markup_tokens import Token, pair_up, tokenise
from hark.documents.xml import decode_xml
from hark.documents.xml_inline import InlineContent, attributes, read_content
from hark.text.rewrite import Rewriting, Span

_UNDONE = frozenset(("new", "needs-translation", "initial"))
"""States of targets that are to be translated, whatever is in them."""


@dataclass(frozen=True)
class _Unit:
    """A source to translate, and the edits of the file around its target."""

    content: InlineContent
    target: Span
    """The content of the target; or the place where one is to be inserted."""
    before: str
    after: str
    state: tuple[Span, str] | None
    """The tag with the state of the translation, and how it is after translation."""


class XliffDocument:
    """An XLIFF file. A unit whose translation equals its source stays as it is."""

    def __init__(self, file: DecodedText, target: str) -> None:
        self._file, self._target = file, target
        self._units = [unit for unit in _read_units(file.text) if unit.content.translatable]

    @property
    def segments(self) -> Sequence[Segment]:
        return [Segment(unit.content.text, unit.content.tagged, True) for unit in self._units]

    def write(self, translations: Sequence[SegmentTranslation]) -> bytes:
        edits: list[tuple[Span, str]] = []
        for unit, done in zip(self._units, translations, strict=True):
            filled = None if done.text == unit.content.text else unit.content.fill(done.text, done.links)
            if filled is not None:
                edits.append((unit.target, unit.before + filled + unit.after))
                edits += [unit.state] if unit.state else []
        if edits:
            edits += self._languages()
        return self._file.encode(Rewriting.of(self._file.text, sorted(edits)).after, "xml")

    def _languages(self) -> Iterator[tuple[Span, str]]:
        """State the target language where the file does not."""
        text = self._file.text
        two = re.search(r"<xliff\b[^>]*\bversion\s*=\s*[\"']2", text)
        name = "trgLang" if two else "target-language"
        for tag in re.finditer(r"<(?:[\w.-]+:)?xliff\b[^>]*>" if two else r"<(?:[\w.-]+:)?file\b[^>]*>", text):
            if self._target and name not in attributes(tag[0]):
                at = tag.end() - (2 if tag[0].endswith("/>") else 1)
                yield (at, at), f' {name}="{self._target}"'


def read(content: bytes, options: ReadingOptions) -> Document:
    """Read XLIFF 1.2 or 2."""
    file = decode_xml(content)
    if not re.search(r"<(?:[\w.-]+:)?xliff\b", file.text):
        raise DocumentError("the file is not XLIFF: it has no element xliff")
    return XliffDocument(file, options.target)


def _read_units(text: str) -> Iterator[_Unit]:
    """Yield the units without a finished translation."""
    tokens = [token if ":" not in token.name else _plain(token) for token in tokenise(text, html=False)]
    partners, starts = pair_up(tokens), [0]
    for token in tokens:
        starts.append(starts[-1] + len(token.raw))
    kept: list[bool] = []  # for each open unit or group, whether it is not to be translated
    opened: list[int] = []  # the elements around
    number = 0
    while number < len(tokens):
        token = tokens[number]
        if token.name in ("file", "group", "unit", "trans-unit", "body") and token.kind in ("open", "close"):
            if token.kind == "open":
                values = attributes(token.raw)
                above = bool(kept) and kept[-1]
                no = values["translate"] == "no" if "translate" in values else above
                kept.append(no or values.get("approved") == "yes")
            elif kept:
                kept.pop()
        if token.kind == "open" and token.name in ("alt-trans", "matches", "mda:metadata", "notes"):
            number = max(partners[number], number)
        elif token.kind == "open" and token.name == "source" and partners[number] > number and not (kept and kept[-1]):
            yield from _read_unit(text, tokens, partners, starts, number, opened[-1] if opened else number)
            number = partners[number]
        elif token.kind == "open" and partners[number] > number:
            opened.append(number)
        elif token.kind == "close" and partners[number] >= 0:
            opened.pop()
        number += 1


def _plain(token: Token) -> Token:
    """A token without the prefix of its namespace."""
    return Token(token.kind, token.raw, token.name.rpartition(":")[2])


def _read_unit(
    text: str, tokens: Sequence[Token], partners: Sequence[int], starts: Sequence[int], source: int, parent: int
) -> Iterator[_Unit]:
    close = partners[source]
    content = read_content(text[starts[source + 1] : starts[close]])
    if tokens[parent].name not in ("trans-unit", "segment"):
        return
    after = close + 1
    while after < partners[parent] and tokens[after].name != "target":
        if tokens[after].kind == "open" and tokens[after].name == "seg-source":
            close = partners[after]
        after = max(after, partners[after]) + 1 if tokens[after].kind == "open" else after + 1
    state = _state(tokens, starts, parent)
    tag = tokens[source].raw.replace("source", "target", 1)
    name = re.match(r"<[^\s/>]+", tag)
    assert name is not None
    if after >= partners[parent]:
        before = tokens[source - 1].raw if tokens[source - 1].kind == "text" else ""
        space = before[len(before.rstrip()) :]
        at = starts[close + 1]
        yield _Unit(content, (at, at), f"{space}{name[0]}>", f"</{name[0][1:]}>", state)
        return
    target = tokens[after]
    own = _state(tokens, starts, after)
    if target.kind == "single":
        opening = re.sub(r"\s*/>$", ">", own[1] if own else target.raw)
        yield _Unit(content, (starts[after], starts[after + 1]), opening, f"</{name[0][1:]}>", state)
        return
    inner = (starts[after + 1], starts[partners[after]])
    undone = bool(own or state) or not text[slice(*inner)].strip()
    if undone:
        yield _Unit(content, inner, "", "", own or state)


def _state(tokens: Sequence[Token], starts: Sequence[int], place: int) -> tuple[Span, str] | None:
    """The tag of a target or a segment that says that it is not translated, and how it is after translation."""
    raw = tokens[place].raw
    if attributes(raw).get("state") not in _UNDONE:
        return None
    changed = re.sub(r"(\sstate\s*=\s*[\"'])[\w-]+", r"\1translated", raw)
    return (starts[place], starts[place + 1]), changed
