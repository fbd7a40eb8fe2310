"""Qt's messages (TS files): fills in unfinished translations; contexts, comments and layout stay byte for byte."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hark.documents.encoding import DecodedText
from hark.documents.formats import Document, ReadingOptions, Segment, SegmentTranslation, WrongKindError
from hark.documents.messages import EncodedMessage, plural_rule
from hark.documents.xml import decode_xml
from hark.documents.xml_elements import XmlElements, attributes, read_escaped
from hark.text.rewrite import Rewriting, Span

_GONE = frozenset(("vanished", "obsolete"))
_PLURAL = re.compile(r"(?<=\w)\((e?s)\)")
_NUMBER = re.compile(r"%L?n|%L\d\d?")
"""Numbers, also as the language writes them."""
_UNFINISHED = re.compile(r"\stype\s*=\s*([\"'])unfinished\1")
_FORMS = re.compile(r"nplurals=(\d)")


@dataclass(frozen=True)
class _Entry:
    """A message to translate: its texts, and where its translation is."""

    messages: tuple[EncodedMessage, ...]
    """The message; or its singular and its plural, if they differ."""
    tag: Span
    content: Span
    forms: int
    """The number of plural forms; 0: the message has none."""
    single: bool
    """Whether the element has no content, not even an end tag."""
    space: str
    """What stands before the plural forms, and before the end tag after them."""


class QtDocument:
    """A TS file. A message whose translation equals its source stays unfinished."""

    def __init__(self, file: DecodedText, target: str) -> None:
        self._file, self._target = file, target
        self._elements = XmlElements.of(file.text)
        self._entries = list(self._read())

    @property
    def segments(self) -> Sequence[Segment]:
        return [Segment(each.text, each.tagged, True) for entry in self._entries for each in entry.messages]

    def write(self, translations: Sequence[SegmentTranslation]) -> bytes:
        edits: list[tuple[Span, str]] = []
        rest = iter(translations)
        for entry in self._entries:
            edits += self._fill(entry, [next(rest) for _ in entry.messages])
        if edits:
            edits += self._language()
        return self._file.encode(Rewriting.of(self._file.text, sorted(edits)).after, "xml")

    def _read(self) -> Iterator[_Entry]:
        elements = self._elements
        for number, token in enumerate(elements.tokens):
            if token.name != "message" or token.kind != "open" or elements.partners[number] < 0:
                continue
            children = {elements.tokens[each].name: each for each in elements.children(number)}
            if "source" not in children or "translation" not in children:
                continue
            source, translation = elements.content(children["source"]), children["translation"]
            values = attributes(elements.tokens[translation].raw)
            content = elements.content(translation)
            empty = not re.sub(r"<[^>]*>", "", content).strip()
            if values.get("type") in _GONE or (values.get("type") != "unfinished" and not empty) or "<" in source:
                continue
            plural = attributes(token.raw).get("numerus") == "yes"
            texts = dict.fromkeys((_PLURAL.sub("", source), _PLURAL.sub(r"\1", source)) if plural else (source,))
            messages = tuple(read_escaped(each, _NUMBER) for each in texts)
            if not all(each.message.translatable for each in messages):
                continue
            yield _Entry(
                messages,
                elements.tag(translation),
                elements.span(translation),
                self._forms(content) if plural else 0,
                elements.tokens[translation].kind == "single",
                content[: len(content) - len(content.lstrip())],
            )

    def _forms(self, content: str) -> int:
        """The number of plural forms: that of the target language, or as many as there are."""
        stated = _FORMS.search(plural_rule(self._target))
        return int(stated[1]) if stated else max(1, content.count("<numerusform"))

    def _fill(self, entry: _Entry, done: Sequence[SegmentTranslation]) -> Iterator[tuple[Span, str]]:
        """Yield the edits that put in a translation; none if it is the source, or has lost a placeholder."""
        filled = [message.fill(each.text, each.links) for message, each in zip(entry.messages, done, strict=True)]
        if any(new == message.raw for new, message in zip(filled, entry.messages, strict=True)):
            return
        content = filled[0]
        if entry.forms:
            indent = entry.space or "\n            "
            texts = [filled[0] if not number and entry.forms > 1 else filled[-1] for number in range(entry.forms)]
            content = "".join(f"{indent}<numerusform>{text}</numerusform>" for text in texts)
            content += indent[:-4] if indent.endswith("    ") else indent
        tag = _UNFINISHED.sub("", self._file.text[slice(*entry.tag)])
        if entry.single:
            yield entry.tag, re.sub(r"\s*/>$", ">", tag) + content + "</translation>"
            return
        yield entry.tag, tag
        yield entry.content, content

    def _language(self) -> Iterator[tuple[Span, str]]:
        """State the target language if the file does not."""
        for number, token in enumerate(self._elements.tokens):
            if token.name == "TS" and self._target and not attributes(token.raw).get("language"):
                raw = re.sub(r"\slanguage\s*=\s*(\"\"|'')", "", token.raw)
                yield self._elements.tag(number), f'{raw[:-1]} language="{self._target.replace("-", "_")}">'
                return


def read(content: bytes, options: ReadingOptions) -> Document:
    """Read a TS file of Qt; programs in TypeScript and films have the same suffix."""
    if not re.search(rb"<TS[\s>]", content[:4096].replace(b"\0", b"")):
        raise WrongKindError("the file has no messages of Qt; if it is plain text, use --as txt")
    return QtDocument(decode_xml(content), options.target)
