"""Writes TMX, the exchange format of translation memories; `hark.data.tmx` reads it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path
from typing import BinaryIO
from xml.sax.saxutils import escape, quoteattr

import hark
from hark.data.tmx import LOW
from hark.errors import UserError

_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML cannot hold."""
TAIL = 1 << 16
"""Bytes at the end of a memory in which its body ends."""
BLOCK = 1 << 20


@dataclass(frozen=True)
class TranslationUnit:
    """A text and its translation."""

    source: str
    target: str
    score: float | None = None
    """How sure the alignment is, from 0 to 1."""
    low: bool = False
    """Whether it is probably not a translation."""


def new_tmx(source: str) -> bytes:
    """A memory without units."""
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
    start = file.seek(max(0, size - TAIL))
    place = file.read().rfind(b"</body>")
    if place < 0 or (b"encoding=" in head and b"utf-8" not in head):
        raise UserError(f"{path}: units can be added only to a complete TMX file in UTF-8; name another file")
    file.seek(0)
    for at in range(0, start + place, BLOCK):
        yield file.read(min(BLOCK, start + place - at))
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
