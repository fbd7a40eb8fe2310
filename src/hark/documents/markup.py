"""HTML and XML: takes out the texts to translate and puts the translations back between untouched markup."""

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import NamedTuple

from hark.documents.markup_tokens import READINGS, MarkupRules, Token, pair_up, tokenise
from hark.documents.placing import Element, Mark, place, placeholders
from hark.translate.align import Link

MAX_TAGS, MAX_DEPTH = 400, 40
"""Inline tags of one text, and their depth, up to which they are placed by alignment. Beyond, every tag ends a text."""
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[^\W\d_]\w{0,31});")
_SPACES = re.compile(r"[ \t\n\r\f]+")


@dataclass(frozen=True)
class Block:
    """A text to translate, with the inline tags in it."""

    raw: str
    """The source, as written."""
    text: str
    """The text without tags and entities; elements that are not translated are placeholders."""
    root: Element
    written: dict[int, str] = field(default_factory=dict)
    """How characters are escaped: as in the source."""

    @property
    def tagged(self) -> bool:
        return bool(self.root.children)

    def fill(self, translation: str, links: Sequence[Link]) -> str:
        """Return the source of the block with its text translated."""
        if translation == self.text:
            return self.raw
        return place(self.root, self.text, translation, links, self._escape)

    def _escape(self, text: str) -> str:
        return text.translate(self.written)


class MarkupItem(NamedTuple):
    """A token of a text, or an element that is not translated."""

    number: int
    """Which token it is in the document."""
    start: int
    token: Token
    ignored: bool
    endless: bool = False
    """Whether it is an element that is not translated and has no end tag, so that it goes on to the end."""


class Markup:
    """A document: `texts` are to be translated, and `join` puts their translations back.

    Only the texts and their places are kept: tokens take several times the memory of the document, so that they are
    read again when it is written.
    """

    def __init__(self, source: str, rules: MarkupRules) -> None:
        self.rules, self._source = rules, source
        self._partners = pair_up(self._tokenise(source))
        self._inline = self._find_inline() if not rules.html and rules.outline else frozenset[str]()
        self._places = array("q")
        """For each text: its start and end in the source, and the number of its first token."""
        texts, tagged = list[str](), list[bool]()
        for run in self._runs():
            block = self._block(run)
            start = run[0].start
            self._places.extend((start, start + len(block.raw), run[0].number))
            texts.append(block.text)
            tagged.append(block.tagged)
        self.texts = tuple(texts)
        self.tagged = tuple(tagged)
        """For each text, whether there are tags in it, which are placed by word links."""

    def join(self, translations: Iterable[tuple[str, Sequence[Link]]]) -> str:
        """Return the document with each text replaced by its translation; the links place the tags inside."""
        parts, end = list[str](), 0
        for number, (text, (translation, links)) in enumerate(zip(self.texts, translations, strict=True)):
            start, stop, first = self._places[3 * number : 3 * number + 3]
            if translation != text:
                block = self._block(list(self._items(self._source[start:stop], first)))
                parts += [self._source[end:start], block.fill(translation, links)]
                end = stop
        return "".join([*parts, self._source[end:]])

    def parts(self) -> Iterator[str | Block]:
        """Yield the document in order: texts to translate, and what is between them."""
        end = 0
        for entry in range(0, len(self._places), 3):
            start, stop, first = self._places[entry : entry + 3]
            yield self._source[end:start]
            yield self._block(list(self._items(self._source[start:stop], first)))
            end = stop
        yield self._source[end:]

    def sample(self, characters: int) -> str:
        """Text from the beginning of the document, to detect its language."""
        parts, size = list[str](), 0
        for text in self.texts:
            parts.append(text)
            size += len(text)
            if size >= characters:
                break
        return "\n".join(parts)

    def _tokenise(self, source: str) -> Iterator[Token]:
        return tokenise(source, self.rules.html, self.rules.xhtml)

    def _find_inline(self) -> frozenset[str]:
        """The names of elements that stand next to text anywhere in the document."""
        opened = [-1]
        with_text: set[int] = set()
        children: dict[str, set[int]] = {}
        for number, token in enumerate(self._tokenise(self._source)):
            if token.kind == "text" and token.raw.strip():
                with_text.add(opened[-1])
            elif token.kind in ("open", "single"):
                children.setdefault(token.name, set()).add(opened[-1])
                if token.kind == "open" and self._partners[number] >= 0:
                    opened.append(number)
            elif token.kind == "close" and self._partners[number] >= 0:
                opened.pop()
        return frozenset(name for name, parents in children.items() if not with_text.isdisjoint(parents))

    def _items(self, source: str, first: int = 0) -> Iterator[MarkupItem]:
        """Yield the tokens of a part of the document; an element that is not translated is one item."""
        start, number, held, until, name = 0, first, list[str](), -1, ""
        for here, token in enumerate(self._tokenise(source), first):
            if held and until < 0 and self._ends(number, name, token, here):
                yield (item := MarkupItem(number, start, Token("open", "".join(held), name), True))
                start += len(item.token.raw)
                held = []
            if held:
                held.append(token.raw)
                if here != until:
                    continue
                item = MarkupItem(number, start, Token("open", "".join(held), name), True)
                held = []
            else:
                number = here
                ignored = token.kind in ("open", "single") and self.rules.ignores(token)
                if ignored and token.kind == "open":
                    held, until, name = [token.raw], self._partners[here], token.name
                    continue
                item = MarkupItem(number, start, token, ignored)
            yield item
            start += len(item.token.raw)
        if held:  # it goes on to the end
            yield MarkupItem(number, start, Token("open", "".join(held), name), True, True)

    def _ends(self, number: int, name: str, token: Token, here: int) -> bool:
        """Whether an element without an end tag ends before a token: its parent ends there, or the next one begins."""
        if token.kind == "close":
            return 0 <= self._partners[here] < number
        return self.rules.ends(name, token)

    def _runs(self) -> Iterator[list[MarkupItem]]:
        """Yield the items of each text of the document."""
        run: list[MarkupItem] = []
        for item in self.items():
            if item.endless or (
                item.token.kind in ("open", "close", "single") and self.rules.splits(item.token, self._inline)
            ):
                yield from self._split_run(run)
                run = []
            else:
                run.append(item)
        yield from self._split_run(run)

    def items(self) -> Iterator[MarkupItem]:
        """Yield the tokens of the document, but an element that is not translated as one item."""
        if not self.rules.only:
            yield from self._items(self._source)
            return
        chosen, outside = 0, MarkupItem(0, 0, Token("hidden", ""), True, True)
        for item in self._items(self._source):
            named = item.token.name in self.rules.only and not item.ignored and self._partners[item.number] >= 0
            chosen -= named and item.token.kind == "close"
            yield item if chosen or named else outside
            chosen += named and item.token.kind == "open"

    def _split_run(self, run: list[MarkupItem]) -> Iterator[list[MarkupItem]]:
        """Yield items without a splitting tag as one text; or as several, if there are too many tags."""
        if not any(item.token.kind == "text" and any(map(str.isalpha, unescape(item.token.raw))) for item in run):
            return
        run = _peel(run)
        if sum(item.token.kind != "text" for item in run) <= MAX_TAGS and _depth(run) <= MAX_DEPTH:
            yield run
            return
        for item in run:
            if item.token.kind == "text" and item.token.raw.strip():
                yield _peel([item])

    def _block(self, run: Sequence[MarkupItem]) -> Block:
        raw = "".join(item.token.raw for item in run)
        holders = placeholders(unescape(raw))
        within = range(run[0].number, run[-1].number + 1)
        written = {ord("&"): "&amp;", ord("<"): "&lt;"}
        if not any(">" in item.token.raw for item in run if item.token.kind == "text"):
            written[ord(">")] = "&gt;"
        text, visible = "", False
        root = Element("", "", 0, 0)
        stack = [root]

        def add_text(part: str) -> None:
            nonlocal text, visible
            if self.rules.collapse:
                part = _SPACES.sub(" ", part)
                part = part[1:] if part.startswith(" ") and text.endswith(" ") and not visible else part
            text += part
            visible = False

        for number, _, token, ignored, _ in run:
            here = stack[-1].children
            partner = self._partners[number]
            if token.kind == "text":
                end = 0
                for reference in _REFERENCE.finditer(token.raw):
                    character = unescape(reference[0])
                    if len(character) == 1:
                        written.setdefault(ord(character), reference[0])
                        if character in "&<>":
                            written[ord(character)] = reference[0]
                    elif not self.rules.html:  # an entity of the document's own
                        add_text(unescape(token.raw[end : reference.start()]))
                        here.append(Mark(reference[0], len(text), holder := next(holders)))
                        text += holder
                        end = reference.end()
                add_text(unescape(token.raw[end:]))
            elif ignored and token.name in READINGS:
                here.append(Mark(token.raw, len(text)))
            elif ignored:
                here.append(Mark(token.raw, len(text), holder := next(holders)))
                text += holder
            elif token.kind == "open" and partner in within:
                here.append(element := Element(token.raw, "", len(text), len(text)))
                stack.append(element)
            elif token.kind == "close" and partner in within:
                element = stack.pop()
                element.closing, element.end = token.raw, len(text)
            else:
                here.append(Mark(token.raw, len(text), ordered=token.kind in ("open", "close")))
                visible |= token.kind == "single"
        root.end = len(text)
        return Block(raw, text, root, written)


def _peel(run: list[MarkupItem]) -> list[MarkupItem]:
    """Leave out white space, comments and single tags at both ends, which stay there anyway."""
    start, end = 0, len(run)
    while start < end and _is_at_edge(run[start]):
        start += 1
    while start < end and _is_at_edge(run[end - 1]):
        end -= 1
    run = run[start:end]
    if run and run[0].token.kind == "text":
        inner = run[0].token.raw.lstrip()
        run[0] = run[0]._replace(start=run[0].start + len(run[0].token.raw) - len(inner), token=Token("text", inner))
    if run and run[-1].token.kind == "text":
        run[-1] = run[-1]._replace(token=Token("text", run[-1].token.raw.rstrip()))
    return run


def _is_at_edge(item: MarkupItem) -> bool:
    kind = item.token.kind
    return not item.token.raw.strip() if kind == "text" else kind in ("hidden", "single") and not item.ignored


def _depth(run: Sequence[MarkupItem]) -> int:
    depth = deepest = 0
    for item in run:
        depth += (item.token.kind == "open" and not item.ignored) - (item.token.kind == "close")
        deepest = max(deepest, depth)
    return deepest
