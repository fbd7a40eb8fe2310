"""HTML and XML: takes out the texts to translate and puts the translations back between untouched markup."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import unescape

from hark.decode.align import Link
from hark.documents.markup_rules import MarkupRules
from hark.documents.markup_tokens import Token, pair_up, tokenise
from hark.documents.placing import Element, Mark, place, placeholders

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

    def fill(self, translation: str, links: Sequence[Link]) -> str:
        """Return the source of the block with its text translated."""
        if translation == self.text:
            return self.raw
        return place(self.root, self.text, translation, links, self._escape)

    def _escape(self, text: str) -> str:
        return text.translate(self.written)


class Markup:
    """A document: `texts` are to be translated, and `join` puts their translations back."""

    def __init__(self, source: str, rules: MarkupRules) -> None:
        self.rules = rules
        self._tokens = list(tokenise(source, rules.html))
        self._partners = pair_up(self._tokens)
        self._inline = self._find_inline() if not rules.html and rules.outline else frozenset[str]()
        self._parts = list(self._read())
        blocks = [part for part in self._parts if isinstance(part, Block)]
        self.texts = tuple(each.text for each in blocks)
        self.tagged = tuple(bool(each.root.children) for each in blocks)
        """For each text, whether there are tags in it, which are placed by word links."""

    def join(self, translations: Sequence[tuple[str, Sequence[Link]]]) -> str:
        """Return the document with each text replaced by its translation; the links place the tags inside."""
        rest = iter(translations)
        return "".join(part if isinstance(part, str) else part.fill(*next(rest)) for part in self._parts)

    def sample(self, characters: int) -> str:
        """Text from the beginning of the document, to detect its language."""
        parts, size = list[str](), 0
        for text in self.texts:
            parts.append(text)
            size += len(text)
            if size >= characters:
                break
        return "\n".join(parts)

    def _find_inline(self) -> frozenset[str]:
        """The names of elements that stand next to text anywhere in the document."""
        opened = [-1]
        with_text: set[int] = set()
        children: list[tuple[int, str]] = []
        for number, token in enumerate(self._tokens):
            if token.kind == "text" and token.raw.strip():
                with_text.add(opened[-1])
            elif token.kind in ("open", "single"):
                children.append((opened[-1], token.name))
                if token.kind == "open" and number in self._partners:
                    opened.append(number)
            elif token.kind == "close" and number in self._partners:
                opened.pop()
        return frozenset(name for parent, name in children if parent in with_text)

    def _read(self) -> Iterator[str | Block]:
        run: list[tuple[int, Token, bool]] = []
        place = 0
        while place < len(self._tokens):
            token = self._tokens[place]
            end = place + 1
            ignored = token.kind in ("open", "single") and self.rules.ignores(token)
            if ignored and token.kind == "open":  # an element without an end tag goes on to the end
                end = self._partners.get(place, len(self._tokens) - 1) + 1
                raw = "".join(each.raw for each in self._tokens[place:end])
                token = Token("open", raw, token.name)
            if token.kind in ("open", "close", "single") and (
                self.rules.splits(token, self._inline)
                or (ignored and end == len(self._tokens) and place not in self._partners)
            ):
                yield from self._blocks(run)
                run = []
                yield token.raw
            else:
                run.append((place, token, ignored))
            place = end
        yield from self._blocks(run)

    def _blocks(self, run: list[tuple[int, Token, bool]]) -> Iterator[str | Block]:
        """Make a block of tokens without a splitting tag; or several, if there are too many tags."""
        if not any(token.kind == "text" and any(map(str.isalpha, unescape(token.raw))) for _, token, _ in run):
            yield "".join(token.raw for _, token, _ in run)
            return
        lead, run = _peel(run, 0)
        tail, run = _peel(run, -1)
        yield lead
        if sum(token.kind != "text" for _, token, _ in run) <= MAX_TAGS and _depth(run) <= MAX_DEPTH:
            yield self._block(run)
        else:
            for each in run:
                if each[1].kind == "text" and each[1].raw.strip():
                    before, single = _peel([each], 0)
                    after, single = _peel(single, -1)
                    yield from (before, self._block(single), after)
                else:
                    yield each[1].raw
        yield tail

    def _block(self, run: Sequence[tuple[int, Token, bool]]) -> Block:
        raw = "".join(token.raw for _, token, _ in run)
        holders = placeholders(unescape(raw))
        within = range(run[0][0], run[-1][0] + 1)
        written = {ord("&"): "&amp;", ord("<"): "&lt;"}
        if not any(">" in token.raw for _, token, _ in run if token.kind == "text"):
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

        for number, token, ignored in run:
            here = stack[-1].children
            partner = self._partners.get(number)
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


def _peel(run: list[tuple[int, Token, bool]], place: int) -> tuple[str, list[tuple[int, Token, bool]]]:
    """Split off the white space before the first token or after the last one."""
    number, token, ignored = run[place]
    if token.kind != "text":
        return "", run
    inner = token.raw.lstrip() if place == 0 else token.raw.rstrip()
    space = token.raw[: len(token.raw) - len(inner)] if place == 0 else token.raw[len(inner) :]
    rest = [(number, Token("text", inner), ignored)] if inner else []
    return space, [*rest, *run[1:]] if place == 0 else [*run[:-1], *rest]


def _depth(run: Sequence[tuple[int, Token, bool]]) -> int:
    """The greatest depth of the tags of a block."""
    depth = deepest = 0
    for _, token, ignored in run:
        depth += (token.kind == "open" and not ignored) - (token.kind == "close")
        deepest = max(deepest, depth)
    return deepest
