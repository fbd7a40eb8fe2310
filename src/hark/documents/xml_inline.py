"""Inline elements of XLIFF and TMX: codes that enclose text are placed by alignment, others are placeholders."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape

from hark.documents.markup_tokens import ATTRIBUTE, Token, pair_up, tokenise
from hark.documents.messages import has_words, keeps_placeholders
from hark.documents.placing import InlineTree, place
from hark.translate.align import Link

_ENCLOSING = frozenset(("g", "mrk", "pc", "hi"))
_OPENING = {"bpt": "ept", "bx": "ex", "sc": "ec", "sm": "em"}
"""Elements that open something, and those that close it: a pair has the same id."""
_PLACEHOLDERS = frozenset(("x", "ph", "cp"))
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|\w{1,31});")
_CDATA = re.compile(r"\s*<!\[CDATA\[(.*?)\]\]>\s*", re.DOTALL)


@dataclass(frozen=True)
class InlineContent:
    """The content of a source element: its text, and how to write a translation with the same codes."""

    raw: str
    tree: InlineTree
    written: dict[int, str]
    lead: str
    tail: str
    cdata: bool = False

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
        """Return the translated content; None if a placeholder is missing or too many."""
        if not keeps_placeholders(self.text, translation):
            return None
        if self.cdata:
            return f"{self.lead}<![CDATA[{translation.replace(']]>', ']]]]><![CDATA[>')}]]>{self.tail}"
        filled = place(self.tree.root, self.text, translation, links, lambda part: part.translate(self.written))
        return self.lead + filled + self.tail


def attributes(tag: str) -> dict[str, str]:
    """The attributes of a tag, unescaped."""
    return {found[1]: unescape(found[2].strip("\"'")) for found in ATTRIBUTE.finditer(tag)}


def read_content(raw: str) -> InlineContent:
    """Read the content of a source element."""
    if section := _CDATA.fullmatch(raw):
        inner = section[1].strip()
        tree = InlineTree(raw)
        tree.add_text(inner)
        before, _, after = raw.partition("<![CDATA[")
        return InlineContent(raw, tree, {}, before, after.rpartition("]]>")[2], cdata=True)
    inner = raw.strip()
    start = raw.find(inner)
    written = {ord("&"): "&amp;", ord("<"): "&lt;"}
    if ">" not in re.sub(r"<[^>]*>", "", inner):
        written[ord(">")] = "&gt;"
    tree = _build(inner, written)
    return InlineContent(raw, tree, written, raw[:start], raw[start + len(inner) :])


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
