"""TMX, the exchange format of translation memories: writes memories, which `hark.data.tmx` reads, and translates them.

Units that have no translation in the target language get one; everything else stays byte for byte.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path
from typing import BinaryIO
from xml.sax.saxutils import escape, quoteattr

import hark
from hark.data.tmx import LOW
from hark.documents.formats import Document, DocumentError, ReadingOptions
from hark.documents.xml import decode_xml
from hark.documents.xml_elements import attributes
from hark.documents.xml_inline import BilingualDocument, TargetUnit, read_content
from hark.errors import UserError

_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML cannot hold."""
TAIL_BYTES = 1 << 16
"""Bytes at the end of a memory in which its body ends."""
BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class TranslationUnit:
    source: str
    target: str
    score: float | None = None
    """How sure the alignment is, from 0 to 1."""
    low: bool = False
    """Whether it is probably not a translation."""


def new_tmx(source: str) -> bytes:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n'
        f'<header creationtool="hark" creationtoolversion="{hark.__version__}" segtype="sentence" o-tmf="hark" '
        f'adminlang="en" srclang={quoteattr(source)} datatype="plaintext"/>\n<body>\n</body>\n</tmx>\n'
    ).encode()


def add_units(
    file: BinaryIO, units: Iterable[TranslationUnit], source: str, target: str, path: Path
) -> Iterator[bytes]:
    """Yield the content of a memory with units added at its end; the rest of the file stays as it is."""
    head = file.read(200).lower()
    size = file.seek(0, SEEK_END)
    start = file.seek(max(0, size - TAIL_BYTES))
    place = file.read().rfind(b"</body>")
    if place < 0 or (b"encoding=" in head and b"utf-8" not in head):
        raise UserError(f"{path}: units can be added only to a complete TMX file in UTF-8; name another file")
    file.seek(0)
    for at in range(0, start + place, BLOCK_BYTES):
        yield file.read(min(BLOCK_BYTES, start + place - at))
    yield "".join(_unit(each, source, target) for each in units).encode()
    yield file.read()


def _unit(unit: TranslationUnit, source: str, target: str) -> str:
    props = "" if unit.score is None else f'<prop type="x-score">{unit.score:.3f}</prop>'
    props += f'<prop type="{LOW}">low</prop>' if unit.low else ""
    variants = "".join(
        f"<tuv xml:lang={quoteattr(language)}><seg>{escape(_INVALID.sub('', text))}</seg></tuv>"
        for language, text in ((source, unit.source), (target, unit.target))
    )
    return f"<tu>{props}{variants}</tu>\n"


def to_tsv(units: Iterable[TranslationUnit]) -> bytes:
    """Columns: source, target, score, and `low` where the score is low. `hark prepare` reads the first two."""
    rows = (
        f"{_flat(each.source)}\t{_flat(each.target)}\t{each.score or 0.0:.3f}\t{'low' if each.low else ''}\n"
        for each in units
    )
    return "".join(rows).encode("utf-8", "replace")


def _flat(text: str) -> str:
    return " ".join(text.split())


_HEADER = re.compile(r"<header\b[^>]*>")
_UNIT = re.compile(r"<!--.*?-->|<tu\b[^>]*>(.*?)</tu>", re.DOTALL)
_VARIANT = re.compile(r"(<tuv\b[^>]*>)(.*?)(<seg\b[^>]*>)(.*?)(</seg>.*?</tuv>)", re.DOTALL)


def read(content: bytes, options: ReadingOptions) -> Document:
    """Read TMX; the target language must be known."""
    file = decode_xml(content)
    if not re.search(r"<tmx\b", file.text):
        raise DocumentError("the file is not TMX: it has no element tmx")
    if not options.target:
        raise DocumentError("TMX files have several languages: say which one to translate into")
    header = _HEADER.search(file.text)
    stated = attributes(header[0]).get("srclang", "") if header else ""
    source = options.source or stated
    if not source or source == "*all*":
        raise DocumentError(
            "the TMX file does not say in which language its texts are: say which one to translate from"
        )
    return BilingualDocument(file, list(_find_units(file.text, source, options.target)))


def _find_units(text: str, source: str, target: str) -> Iterator[TargetUnit]:
    """Yield the texts in the source language whose units have none in the target language."""
    for unit in _UNIT.finditer(text):
        if unit[1] is None:  # a comment
            continue
        variants = {_language(found[1]): found for found in reversed(list(_VARIANT.finditer(text, *unit.span(1))))}
        found = next((each for name, each in variants.items() if _matches(name, source)), None)
        if found is None or any(_matches(name, target) for name in variants):
            continue
        content = read_content(found[4])
        if content.translatable:
            before = text[unit.start(1) : found.start()]
            indent = before[len(before.rstrip()) :]
            opening = re.sub(r"((?:xml:)?lang\s*=\s*[\"'])[^\"']*", rf"\g<1>{target}", found[1], count=1)
            between = found[2]  # notes and properties belong to the source
            space = between[: len(between) - len(between.lstrip())]
            closing = re.sub(r"(</seg>\s*).*(</tuv>)", r"\1\2", found[5], flags=re.DOTALL)
            at = found.end()
            yield TargetUnit(content, (at, at), indent + opening + space + found[3], closing)


def _language(tag: str) -> str:
    values = attributes(tag)
    return values.get("xml:lang", values.get("lang", ""))


def _matches(one: str, other: str) -> bool:
    """Whether two languages are the same, or one is a variant of the other: en and en-GB."""
    first, second = (each.lower().replace("_", "-") for each in (one, other))
    return first == second or first.startswith(second + "-") or second.startswith(first + "-")
