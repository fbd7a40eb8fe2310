"""Stand-ins for a model: translators that change nothing, or every word."""

from collections.abc import Callable, Sequence

from hark.documents.formats import Document, ReadingOptions, SegmentTranslation, read_document
from hark.translate.align import Link, word_spans


def copy(text: str) -> SegmentTranslation:
    return SegmentTranslation(text, [Link(span, span, 1.0) for span in word_spans(text)])


def shout(text: str) -> SegmentTranslation:
    """Translate into capitals, except placeholders."""
    words = [word if any(sign in word for sign in "{}%\\") else word.upper() for word in text.split(" ")]
    return SegmentTranslation(" ".join(words), copy(text).links)


def constant(new: str) -> Callable[[str], SegmentTranslation]:
    return lambda _: SegmentTranslation(new)


def dictionary(words: dict[str, str]) -> Callable[[str], SegmentTranslation]:
    """Translate whole segments; those that are not in the dictionary stay."""
    return lambda text: SegmentTranslation(words.get(text, text))


def read(name: str, content: bytes | str, options: ReadingOptions | None = None) -> Document:
    return read_document(name, content.encode() if isinstance(content, str) else content, options)


def texts(name: str, content: bytes | str, options: ReadingOptions | None = None) -> list[str]:
    return [segment.text for segment in read(name, content, options).segments]


def translate(
    name: str,
    content: bytes | str,
    translator: Callable[[str], SegmentTranslation] = shout,
    options: ReadingOptions | None = None,
) -> bytes:
    document = read(name, content, options)
    return document.write([translator(segment.text) for segment in document.segments])


def is_unchanged(name: str, contents: bytes | str, options: ReadingOptions | None = None) -> bool:
    """Whether a file comes back byte for byte if nothing is translated."""
    content = contents.encode() if isinstance(contents, str) else contents
    return translate(name, content, copy, options) == content


def line_ends(text: str) -> Sequence[bytes]:
    """A text with each kind of line end, and with a byte-order mark."""
    mixed = "".join(line + ("\r\n" if number % 2 else "\n") for number, line in enumerate(text.split("\n")))
    windows = text.replace("\n", "\r\n")
    return [
        text.encode(),
        windows.encode(),
        text.replace("\n", "\r").encode(),
        mixed.encode(),
        b"\xef\xbb\xbf" + windows.encode(),
        windows.encode("utf-16"),
        b"\xfe\xff" + text.encode("utf-16-be"),
    ]
