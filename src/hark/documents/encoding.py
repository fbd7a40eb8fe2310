"""Decoding of text files: finds out the encoding, and encodes translations in the same way."""

import codecs
import re
from dataclasses import dataclass
from typing import Literal

from hark.documents.formats import DocumentError
from hark.errors import require

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose byte-order mark is the beginning of this one
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
SAMPLE_BYTES = 1 << 16
"""Bytes from which the encoding is guessed."""
COMMON = (
    "cp1252", "cp1251", "cp932", "gb18030", "cp949", "big5", "cp1250", "iso8859_2", "koi8_r", "euc_jp", "cp1253",
    "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874",
)  # fmt: skip
"""Encodings of files that are not Unicode, the most common first."""
_AS_BROWSERS = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254"}
"""Encodings that browsers read as a larger one, because so many pages are labelled wrongly."""
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
MAX_CONTROLS = 0.02
"""Share of control characters in a text: some have one at the end, or for bold type; binary files have many more."""
Unencodable = Literal["xml", "utf-8"]
"""What to do with characters that the encoding of a file lacks: `xml` writes them as &#1234;; `utf-8` encodes the whole
file in UTF-8."""


@dataclass(frozen=True)
class DecodedText:
    """The text of a file without its byte-order mark."""

    text: str
    encoding: str
    bom: bytes = b""

    @property
    def newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\r" if "\n" not in self.text else "\n"

    def encode(self, text: str, unencodable: Unencodable = "utf-8") -> bytes:
        """Encode another text as this one was encoded."""
        try:
            return self.bom + text.encode(self.encoding, "xmlcharrefreplace" if unencodable == "xml" else "strict")
        except UnicodeEncodeError:
            return text.encode("utf-8", "replace")


def decode(content: bytes, declared: str = "") -> DecodedText:
    """Decode a file by its byte-order mark, the declared encoding, as UTF-8, or by a guess, in this order."""
    for bom, encoding in _BOMS:
        if content.startswith(bom):
            text = _try(content[len(bom) :], encoding)
            if text is None:
                raise DocumentError(f"the file is not valid {encoding[:6].upper().rstrip('-')}; it may be damaged")
            return DecodedText(text, encoding, bom)
    for encoding in (declared, "utf-8"):
        if encoding and (text := _try(content, encoding)) is not None:
            return DecodedText(text, encoding)
    return _guess(content)


def declared_encoding(label: str, as_browsers: bool = False) -> str:
    """The codec for the name of an encoding in a file; empty if it is unknown or cannot be right."""
    try:
        codec = codecs.lookup(label.strip()).name
    except (LookupError, ValueError):
        return ""
    if codec.startswith(("utf-16", "utf-32")):  # a declaration that is readable as ASCII is not in UTF-16
        return "utf-8"
    return _AS_BROWSERS.get(codec, codec) if as_browsers else codec


def _try(content: bytes, encoding: str) -> str | None:
    """Decode text; None if it is not in this encoding, binary, or would be encoded in another way."""
    try:
        text = content.decode(encoding)
        binary = "\0" in text or len(_CONTROL.findall(text)) > 3 + MAX_CONTROLS * len(text)
        known = not binary and text.encode(encoding) == content
    except (UnicodeError, LookupError, AttributeError, TypeError):  # the last two: a codec that is not one of text
        return None
    return text if known else None


def _guess(content: bytes) -> DecodedText:
    for encoding in ("utf-16-le", "utf-16-be") if b"\0" in content[:SAMPLE_BYTES] else ():
        text = _try(content, encoding)
        if text is not None and sum(character.isascii() for character in text[:1000]) > len(text[:1000]) / 2:
            return DecodedText(text, encoding)
    require("charset_normalizer", "documents", "a file that is not UTF-8")
    import charset_normalizer

    guesses = charset_normalizer.from_bytes(content[:SAMPLE_BYTES], cp_isolation=list(COMMON))
    # Short texts fit many encodings; among equals, the most common one is right most often.
    ranked = sorted(
        (round(10 * guess.chaos), -round(5 * guess.coherence), COMMON.index(encoding))
        for guess in guesses
        for encoding in guess.could_be_from_charset
        if encoding in COMMON
    )
    for encoding in (*(COMMON[number] for _, _, number in ranked), "latin-1"):
        if (text := _try(content, encoding)) is not None:
            return DecodedText(text, encoding)
    raise DocumentError("the file is not text, or in an unknown encoding; convert it to UTF-8")
