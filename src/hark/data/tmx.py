"""Parser for TMX, the exchange format of translation memories: units with one segment per language."""

from collections.abc import Iterator
from xml.parsers import expat

from hark.data.compression import ByteStream
from hark.errors import UserError

NATIVE_CODE = {"bpt", "ept", "it", "ph", "ut", "sub"}
"""Inline elements of a segment that hold native markup, not text."""
LOW = "x-hark-low"
"""The type of the property of units that `hark align` finds doubtful. They are not read."""


class MissingPairError(UserError):
    """A file has no text in a pair of languages."""


class _Units:
    """Handler of parser events that collects pairs in `pairs`. A tree would hold the whole file in memory."""

    def __init__(self, source: str, target: str) -> None:
        self.source, self.target = source, target
        self.pairs: list[tuple[str, str]] = []
        self.seen: set[str] = set()
        self._segments: dict[str, str] = {}
        self._language = ""
        self._text: list[str] | None = None
        self._markup = 0
        self._low = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "tu":
            self._segments, self._low = {}, False
        elif tag == "prop" and attributes.get("type") == LOW:
            self._low = True
        elif tag == "tuv":
            self._language = attributes.get("xml:lang", attributes.get("lang", "")).lower().replace("_", "-")
        elif tag == "seg":
            self._text, self._markup = [], 0
        elif tag in NATIVE_CODE:
            self._markup += 1

    def text(self, text: str) -> None:
        if self._text is not None and not self._markup:
            self._text.append(text)

    def end(self, tag: str) -> None:
        if tag == "seg" and self._text is not None:
            self._segments.setdefault(self._language, "".join(self._text).replace("\n", " "))
            self._text = None
        elif tag in NATIVE_CODE:
            self._markup -= 1
        elif tag == "tu":
            self.seen.update(self._segments)
            source, target = self._find(self.source), self._find(self.target)
            if source is not None and target is not None and not self._low:
                self.pairs.append((source, target))

    def _find(self, language: str) -> str | None:
        """Return the segment in a language, or else in a regional variant: en-GB matches en, and en matches en-GB."""
        language = language.lower().replace("_", "-")
        if language in self._segments:
            return self._segments[language]
        for code, text in self._segments.items():
            if code.startswith(language + "-") or language.startswith(code + "-"):
                return text
        return None


def parse_tmx(stream: ByteStream, source: str, target: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of all units that have both languages."""
    units = _Units(source, target)
    parser = expat.ParserCreate()
    parser.StartElementHandler = units.start
    parser.EndElementHandler = units.end
    parser.CharacterDataHandler = units.text

    def refuse(*_: object) -> None:
        # Nested entities let a small file fill the memory (billion laughs). TMX does not need them.
        raise UserError(f"{stream.path}: declares XML entities, which hark does not expand")

    parser.EntityDeclHandler = refuse
    found = False
    try:
        for block in stream.blocks():
            parser.Parse(block)
            found = found or bool(units.pairs)
            yield from units.pairs
            units.pairs.clear()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise UserError(f"{stream.path}:{error.lineno}: not well-formed XML: {expat.ErrorString(error.code)}") from None
    except (LookupError, ValueError) as error:  # an encoding that Python does not know
        raise UserError(f"{stream.path}: cannot be read: {error}") from None
    if not found:
        languages = ", ".join(sorted(units.seen)) or "none"
        raise MissingPairError(f"{stream.path}: no unit has both {source} and {target}; languages found: {languages}")
