"""What XLIFF and TMX share: units of a source and a target, and the inline elements in them.

Codes that enclose text are placed by alignment, others are placeholders.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape

from hark.documents.encoding import DecodedText
from hark.documents.formats import Segment, SegmentTranslation
from hark.documents.markup_tokens import Token, pair_up, tokenise
from hark.documents.messages import Message
from hark.documents.placing import InlineTree
from hark.documents.xml_elements import attributes
from hark.text.rewrite import Rewriting, Span

_ENCLOSING = frozenset(("g", "mrk", "pc", "hi"))
_OPENING = {"bpt": "ept", "bx": "ex", "sc": "ec", "sm": "em"}
"""Elements that open something, and those that close it: a pair has the same id."""
_PLACEHOLDERS = frozenset(("x", "ph", "cp"))
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|\w{1,31});")
_CDATA = re.compile(r"\s*<!\[CDATA\[(.*?)\]\]>\s*", re.DOTALL)


@dataclass(frozen=True)
class TargetUnit:
    """A source to translate, and the edits of the file around its target."""

    content: Message
    target: Span
    """The content of the target; or the place where one is to be inserted."""
    before: str
    after: str
    state: tuple[Span, str] | None = None
    """The tag with the state of the translation, and how it is after translation."""


@dataclass(frozen=True)
class BilingualDocument:
    """A file of sources and targets. A unit whose translation equals its source stays as it is."""

    file: DecodedText
    units: Sequence[TargetUnit]
    languages: Sequence[tuple[Span, str]] = ()
    """The edits that state the target language, which are made if there are others."""

    @property
    def segments(self) -> Sequence[Segment]:
        return [Segment(unit.content.text, unit.content.tagged, True) for unit in self.units]

    def write(self, translations: Sequence[SegmentTranslation]) -> bytes:
        edits: list[tuple[Span, str]] = []
        for unit, done in zip(self.units, translations, strict=True):
            filled = None if done.text == unit.content.text else unit.content.fill(done.text, done.links)
            if filled is not None:
                edits.append((unit.target, unit.before + filled + unit.after))
                edits += [unit.state] if unit.state else []
        if edits:
            edits += self.languages
        return self.file.encode(Rewriting.of(self.file.text, sorted(edits)).after, "xml")


def read_content(raw: str) -> Message:
    if section := _CDATA.fullmatch(raw):
        inner = section[1].strip()
        tree = InlineTree(raw)
        tree.add_text(inner)
        before, _, after = raw.partition("<![CDATA[")
        tail = f"]]>{after.rpartition(']]>')[2]}"
        return Message(raw, tree, f"{before}<![CDATA[", tail, lambda part: part.replace("]]>", "]]]]><![CDATA[>"))
    inner = raw.strip()
    start = raw.find(inner)
    written = {ord("&"): "&amp;", ord("<"): "&lt;"}
    if ">" not in re.sub(r"<[^>]*>", "", inner):
        written[ord(">")] = "&gt;"
    tree = _build(inner, written)
    return Message(raw, tree, raw[:start], raw[start + len(inner) :], lambda part: part.translate(written))


def _build(inner: str, written: dict[int, str]) -> InlineTree:
    tree = InlineTree(inner)
    tokens = list(tokenise(inner, html=False))
    kinds = _pair_codes(tokens, pair_up(tokens))
    until = -1
    for number, token in enumerate(tokens):
        if number <= until:
            continue
        if token.kind == "text":
            for found in _REFERENCE.finditer(token.raw):
                if len(unescape(found[0])) == 1:
                    written.setdefault(ord(unescape(found[0])), found[0])
            tree.add_text(unescape(token.raw))
            continue
        kind, until = kinds.get(number, ("mark", number))
        raw = "".join(each.raw for each in tokens[number : until + 1])
        match kind:
            case "open":
                tree.open(raw)
            case "close":
                tree.close(raw)
            case "placeholder":
                tree.add_placeholder(raw)
            case _:
                tree.add_mark(raw, ordered=token.kind in ("open", "close"))
    return tree


def _pair_codes(tokens: Sequence[Token], partners: Sequence[int]) -> dict[int, tuple[str, int]]:
    """What each tag is, and the last token of it: codes include their content, which is not text."""
    kinds: dict[int, tuple[str, int]] = {}
    opened: list[tuple[str, str, int]] = []  # what closes it, its id, its place
    until = -1
    for number, token in enumerate(tokens):
        if number <= until or token.kind in ("text", "hidden"):
            continue
        last = partners[number] if token.kind == "open" and partners[number] >= 0 else number
        values = attributes(token.raw)
        name, id_ = token.name, values.get("rid") or values.get("startRef") or values.get("i") or values.get("id", "")
        if values.get("translate") == "no" or values.get("mtype") == "protected":
            kinds[number], until = ("placeholder", last), last
        elif name in _ENCLOSING and token.kind == "open" and last > number:
            opened.append((name, "", number))
            kinds[number] = ("open", number)
        elif name in _ENCLOSING and token.kind == "close" and partners[number] >= 0:
            while opened and opened[-1][:2] != (name, ""):  # codes that cross an element
                place_ = opened.pop()[2]
                kinds[place_] = ("mark", kinds[place_][1])
            if opened:
                opened.pop()
                kinds[number] = ("close", number)
        elif name in _OPENING:
            opened.append((_OPENING[name], id_, number))
            kinds[number], until = ("open", last), last
        elif name in _OPENING.values():
            closes = bool(opened) and opened[-1][:2] == (name, id_)
            if closes:
                opened.pop()
            kinds[number], until = ("close" if closes else "mark", last), last
        elif token.kind != "close":
            kinds[number], until = ("placeholder" if name in _PLACEHOLDERS else "mark", last), last
    for _, _, number in opened:
        kinds[number] = ("mark", kinds[number][1])
    return kinds
