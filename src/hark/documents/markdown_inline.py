"""Inline markup of Markdown: emphasis, links, images, code spans and HTML tags, as elements that `placing` places."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from html import unescape
from unicodedata import category

from hark.documents.markup_tokens import TAG
from hark.documents.placing import InlineText, InlineTree

_TOKEN = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<code>(?<!`)(?P<ticks>`++).{1,2000}?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<template>\{\{[^{}]{1,200}\}\}|\{%.{1,200}?%\}|\$(?=\S)[^$\n]{1,200}?(?<=\S)\$(?![\d\w])|:[a-z_+-]+\d*:(?!\w))"
    r"|(?P<auto><(?:[A-Za-z][A-Za-z\d+.-]{1,31}:[^\s<>]*|[^\s<>@]+@[^\s<>@]+)>)"
    r"|(?P<comment><!--.{0,2000}?-->)"
    r"|(?P<footnote>\[\^[^\]\s]{1,999}\])"
    r"|(?P<bracket>!?\[)"
    r"|(?P<end>\])"
    r"|(?P<entity>&(?:\#\d{1,7}|\#[xX][\da-fA-F]{1,6}|[A-Za-z][A-Za-z\d]{1,31});)"
    r"|(?P<run>\*+|_+|~~+)"
)
_SIGN = re.compile(r"[\\`{$:<\[!\]&*_~]")
_TARGET = re.compile(
    r"\(\s*(?:<[^<>\n]*>|[^\s()<]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)"
)
_LABEL = re.compile(r"\[([^\[\]]*)\]")
MAX_OPEN = 100
"""Open delimiters among which one looks for its counterpart; it bounds the time that odd texts take."""
MAX_LABEL_CHARS = 999
"""Characters of the name of a reference (CommonMark)."""
_SPECIAL = frozenset("*_`[]<~")
"""Characters that begin markup: escaped in a translation unless the text has them literally."""


@dataclass
class _Node:
    """A part of the text: literal text, a tag, or something that stays as it is."""

    kind: str
    """`text`, `open`, `close`, `html`, `mark` (with a placeholder), `point` (without), or `run` (of delimiters)."""
    raw: str
    text: str = ""
    pair: int = -1
    opens: bool = False
    closes: bool = False
    before: "list[_Node]" = field(default_factory=list)
    after: "list[_Node]" = field(default_factory=list)


def label_key(label: str) -> str:
    """The name of a reference, as links are compared."""
    return " ".join(label.split()).casefold()


def read_inline(source: str, labels: Collection[str], images: bool) -> InlineText:
    """Read inline markup; `labels` are the references of the document, `images` says whether to translate alt texts."""
    nodes = _Scanner(source, labels, images).scan()
    flat = [part for node in nodes for part in (*node.before, node, *node.after) if part.raw]
    _pair_html(flat)
    return _build(flat, source)


class _Scanner:
    """Splits the source into nodes, and finds links and emphasis."""

    def __init__(self, source: str, labels: Collection[str], images: bool) -> None:
        self._source, self._labels, self._images = source, labels, images
        self._nodes: list[_Node] = []
        self._brackets: list[int] = []
        self._pairs = 0

    def scan(self) -> list[_Node]:
        source, at, start = self._source, 0, 0
        while at < len(source):
            sign = _SIGN.search(source, at)
            at = sign.start() if sign else len(source)
            found = _TOKEN.match(source, at) or TAG.match(source, at)
            if found is None:
                at += 1
                continue
            if start < at:
                self._nodes.append(_Node("text", source[start:at], source[start:at]))
            start = at = self._take(found)
        if start < len(source):
            self._nodes.append(_Node("text", source[start:], source[start:]))
        self._match_emphasis(0)
        return self._nodes

    def _take(self, found: re.Match[str]) -> int:
        """Add the nodes of a token; return where it ends."""
        raw, kind = found[0], found.lastgroup if found.re is _TOKEN else "html"
        match kind:
            case "escape":
                self._nodes.append(_Node("text", raw, raw[1:]))
            case "entity":
                self._nodes.append(_Node("text", raw, unescape(raw)))
            case "code" | "auto" | "template":
                self._nodes.append(_Node("mark", raw))
            case "comment" | "footnote":
                self._nodes.append(_Node("point", raw))
            case "html":
                self._nodes.append(_Node("html", raw, found[2].lower()))
            case "bracket":
                self._brackets.append(len(self._nodes))
                self._nodes.append(_Node("text", raw, raw))
            case "end":
                return self._close_bracket(found.end())
            case _:
                self._nodes.append(self._run(found))
        return found.end()

    def _run(self, found: re.Match[str]) -> _Node:
        """Delimiters: whether they can open or close emphasis depends on the characters around them."""
        start, end = found.span()
        before, after = self._source[max(0, start - 1) : start] or " ", self._source[end : end + 1] or " "
        left = not after.isspace() and (not _is_sign(after) or before.isspace() or _is_sign(before))
        right = not before.isspace() and (not _is_sign(before) or after.isspace() or _is_sign(after))
        if found[0][0] == "_":
            left, right = left and (not right or _is_sign(before)), right and (not left or _is_sign(after))
        return _Node("run", found[0], opens=left, closes=right)

    def _close_bracket(self, end: int) -> int:
        """Make a link or an image of the nodes since the bracket was opened, if it is one."""
        first = self._brackets.pop() if self._brackets else -1
        tail = self._tail(first, end) if first >= 0 else None
        if tail is None:
            self._nodes.append(_Node("text", "]", "]"))
            return end
        closing, end = tail
        opening = self._nodes[first].raw
        if opening == "![" and not self._images:
            content = self._raw(first)
            del self._nodes[first:]
            self._nodes.append(_Node("mark", opening + content + closing))
            return end
        self._match_emphasis(first + 1)
        self._pairs += 1
        self._nodes[first] = _Node("open", opening, pair=self._pairs)
        self._nodes.append(_Node("close", closing, pair=self._pairs))
        if opening == "[":  # links do not contain links
            self._brackets = [each for each in self._brackets if self._nodes[each].raw == "!["]
        return end

    def _raw(self, bracket: int) -> str:
        return "".join(node.raw for node in self._nodes[bracket + 1 :])

    def _tail(self, bracket: int, end: int) -> tuple[str, int] | None:
        """What closes the link that begins with a bracket, and where it ends; None if this is not a link."""
        if target := _TARGET.match(self._source, end):
            return "]" + target[0], target.end()
        label = _LABEL.match(self._source, end)
        if label and label[1].strip() and label_key(label[1]) in self._labels:
            return "]" + label[0], label.end()
        if not self._labels or len(self._nodes) - bracket > MAX_LABEL_CHARS:
            return None
        content = self._raw(bracket)
        if label_key(content) not in self._labels:
            return None
        # The text is the name of the reference, which a translation would break.
        return f"][{content}]", label.end() if label and not label[1].strip() else end

    def _match_emphasis(self, first: int) -> None:
        """Pair delimiters as CommonMark does; the rest of them is text."""
        openers: list[_Node] = []
        left: dict[int, str] = {}
        for node in self._nodes[first:]:
            if node.kind != "run":
                continue
            left[id(node)] = node.raw
            while node.closes and left[id(node)]:
                opener = next((each for each in openers[: -MAX_OPEN - 1 : -1] if _can_pair(each, node)), None)
                if opener is None:
                    break
                width = min(2, len(left[id(opener)]), len(left[id(node)]))
                if node.raw[0] == "~" and width < 2:
                    break
                sign = node.raw[0] * width
                self._pairs += 1
                opener.after.insert(0, _Node("open", sign, pair=self._pairs))
                node.before.append(_Node("close", sign, pair=self._pairs))
                for each in (opener, node):
                    left[id(each)] = left[id(each)][width:]
                while openers[-1] is not opener:
                    openers.pop()
                if not left[id(opener)]:
                    openers.pop()
            if node.opens and left[id(node)]:
                openers.append(node)
        for node in self._nodes[first:]:
            if node.kind == "run":
                node.kind, node.text, node.raw = "text", left[id(node)], left[id(node)]


def _can_pair(opener: _Node, closer: _Node) -> bool:
    """Whether delimiters match; CommonMark has a "rule of three" for those that could open as well as close."""
    one, other = len(opener.raw), len(closer.raw)
    either = (opener.closes or closer.opens) and opener.raw[0] != "~"
    return opener.raw[0] == closer.raw[0] and not (either and (one + other) % 3 == 0 and (one % 3 or other % 3))


def _is_sign(character: str) -> bool:
    return category(character)[0] in "PS"


def _pair_html(nodes: Sequence[_Node]) -> None:
    """Pair HTML tags that do not cross other markup; the others are points."""
    stack: list[_Node] = []
    pairs = -2
    for node in nodes:
        if node.kind == "open" or (
            node.kind == "html" and not node.raw.startswith("</") and not node.raw.endswith("/>")
        ):
            stack.append(node)
        elif node.kind == "close":
            while stack.pop().pair != node.pair:
                pass
        elif node.kind == "html" and node.raw.startswith("</"):
            for place_, other in reversed(list(enumerate(stack))):
                if other.kind != "html":
                    break
                if other.text == node.text:
                    other.kind, node.kind, other.pair, node.pair = "open", "close", pairs, pairs
                    pairs -= 1
                    del stack[place_:]
                    break


def _build(nodes: list[_Node], source: str) -> InlineText:
    tree = InlineTree(source)
    literal = {sign for node in nodes if node.kind == "text" and node.raw == node.text for sign in node.text}
    written = {ord(sign): "\\" + sign for sign in _SPECIAL - literal}
    for node in nodes:
        match node.kind:
            case "text":
                if node.raw != node.text and len(node.text) == 1:
                    written[ord(node.text)] = node.raw
                tree.add_text(node.text)
            case "mark":
                tree.add_placeholder(node.raw)
            case "open":
                tree.open(node.raw)
            case "close":
                tree.close(node.raw)
            case _:
                tree.add_mark(node.raw, ordered=node.kind == "html")
    return InlineText(tree, written)
