"""Inline markup of reStructuredText: emphasis and links as elements that `placing` places; code, roles and names as
placeholders."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hark.documents.placing import InlineText, InlineTree
from hark.translate.align import Link

_BEFORE = r"(?<![^\s'\"(\[{<\-/:‘“’«¡¿–—„])"
_AFTER = r"(?![^\s'\"\)\]}>\-/:.,;!?\\’”»–—…“])"
_TOKEN = re.compile(
    rf"(?P<escape>\\(?:\s|\S))"
    rf"|(?P<literal>{_BEFORE}``(?=\S).{{1,2000}}?(?<=\S)``{_AFTER})"
    rf"|(?P<role>{_BEFORE}(?::[A-Za-z][\w.+-]{{0,40}}+){{1,4}}+:`(?P<shown>[^`<\\]{{1,500}}?)?(?P<to>\s*<[^`<>]{{1,500}}>)?`{_AFTER}"
    rf"|{_BEFORE}`[^`]{{1,500}}`:[\w.+:-]{{1,60}}:{_AFTER})"
    rf"|(?P<link>{_BEFORE}`(?P<text>[^`<\\]{{1,1000}}?)(?P<url>\s*<[^`<>]{{1,1000}}>)?`(?P<end>__?){_AFTER})"
    rf"|(?P<target>{_BEFORE}_`(?P<anchor>[^`\\]{{1,500}})`{_AFTER})"
    rf"|(?P<plain>{_BEFORE}`(?=[^\s`])[^`]{{1,500}}(?<=\S)`{_AFTER})"
    rf"|(?P<substitution>{_BEFORE}\|(?=[^\s|])[^|\n]{{1,100}}(?<=\S)\|_{{0,2}}{_AFTER})"
    rf"|(?P<footnote>{_BEFORE}\[(?:\d+|\#[\w.-]*|\*|[A-Za-z][\w.-]*)\]_{_AFTER})"
    rf"|(?P<strong>{_BEFORE}\*\*(?=[^\s*])(?P<bold>[^*]{{1,2000}})(?<=\S)\*\*{_AFTER})"
    rf"|(?P<emphasis>{_BEFORE}\*(?=[^\s*])(?P<italic>[^*]{{1,2000}})(?<=\S)\*{_AFTER})"
    rf"|(?P<name>(?<![\w`])[A-Za-z\d](?:[\w.+:-]{{0,100}}[A-Za-z\d])?__?{_AFTER}(?!\w))"
)
_SIGN = re.compile(r"[\\`:|\[*]|(?<![\w`])[A-Za-z\d][\w.+:-]{0,101}_")
_OPEN, _CLOSE = "\ue000", "\ue001"
"""Where markup begins and ends, until it is known what stands around it."""
_GLUED_BEFORE = re.compile(rf"([^\s'\"(\[{{<\-/:‘“«¡¿–—„{_OPEN}{_CLOSE}]){_OPEN}")
_GLUED_AFTER = re.compile(rf"{_CLOSE}(?=[^\s'\"\)\]}}>\-/:.,;!?\\’”»–—…{_OPEN}{_CLOSE}])")
_EMPTY = re.compile(rf"{_OPEN}(?:\*\*\s*\*\*|\*\s*\*|_?``){_CLOSE}")
_NO_TEXT = re.compile(rf"({_OPEN}(?::[\w.+:-]+:)?`)\s+(<[^`<>]+>`)")
_SPACE_INSIDE = re.compile(rf"({_OPEN}(?:\*\*?|_?`|:[\w.+:-]+:`))(\s+)(?!<)")
_LINK = re.compile(r"`([^`<>]+)`_(?![\w_])|(?<![\w`])([A-Za-z\d](?:[\w.+:-]{0,100}[A-Za-z\d])?)_(?!\w)")


@dataclass(frozen=True)
class RstInline(InlineText):
    """Text in which markup must stand between spaces or signs."""

    def fill(self, translation: str, links: Sequence[Link]) -> str:
        filled = super().fill(translation, links)
        filled = _NO_TEXT.sub(r"\1\2", _EMPTY.sub("", _SPACE_INSIDE.sub(r"\2\1", filled)))
        filled = _GLUED_AFTER.sub(r"\\ ", _GLUED_BEFORE.sub(rf"\1\\ {_OPEN}", filled))
        return filled.replace(_OPEN, "").replace(_CLOSE, "")

    def escape(self, text: str) -> str:
        text = super().escape(text)
        return text if ord("_") in self.written else re.sub(r"(?<=\w)_(?!\w)", r"\\_", text)


def read_inline(source: str) -> RstInline:
    source = source.replace(_OPEN, "").replace(_CLOSE, "")
    tree = InlineTree(source)
    literal: set[str] = set()
    at = end = 0
    while sign := _SIGN.search(source, at):
        at = sign.start()
        found = _TOKEN.match(source, at)
        if found is None:
            literal.add(source[at])
            at += 1
            continue
        tree.add_text(source[end:at])
        _add(tree, found)
        at = end = found.end()
    tree.add_text(source[end:])
    written = {ord(each): f"\\{each}" for each in "*`|" if each not in literal} | {ord("\\"): "\\\\"}
    if re.search(r"(?<=\w)_(?!\w)", tree.text):
        written[ord("_")] = "_"
    return RstInline(tree, written)


def _add(tree: InlineTree, found: re.Match[str]) -> None:
    raw = found[0]
    match found.lastgroup:
        case "escape":
            if raw[1].isspace():
                tree.add_mark(raw)
            else:
                tree.add_text(raw[1])
        case "footnote":
            tree.add_mark(f"{_OPEN}{raw}{_CLOSE}")
        case "role" if found["to"] and found["shown"]:
            _wrap(tree, raw[: found.start("shown") - found.start()], found["shown"], f" {found['to'].strip()}`")
        case "link":
            # The text is the name of what is meant, which a translation would break.
            named = f" <{found['text']}_>" if found["end"] == "_" else ""
            target = f" {found['url'].strip()}" if found["url"] else named
            _wrap(tree, "`", found["text"], f"{target}`{found['end']}")
        case "target":
            _wrap(tree, "_`", found["anchor"], "`")
        case "strong":
            _wrap(tree, "**", found["bold"], "**")
        case "emphasis":
            _wrap(tree, "*", found["italic"], "*")
        case "plain" if " " in raw:
            _wrap(tree, "`", raw[1:-1], "`")
        case _:
            tree.add_placeholder(f"{_OPEN}{raw}{_CLOSE}")


def _wrap(tree: InlineTree, opening: str, text: str, closing: str) -> None:
    tree.open(_OPEN + opening)
    tree.add_text(text)
    tree.close(closing + _CLOSE)


def references(source: str) -> set[str]:
    """The names that links without an address refer to, as they are compared."""
    return {name_key(found[1] or found[2]) for found in _LINK.finditer(source)}


def name_key(name: str) -> str:
    return " ".join(name.split()).casefold()
