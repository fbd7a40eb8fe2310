"""Documents of running text: read from files, cleaned, and divided into training text and a dev set."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hark.config import CleanConfig, Documents
from hark.data.compression import ByteStream
from hark.data.corpus import read_lines, suffix
from hark.data.filters import is_garbled
from hark.data.strata import derive
from hark.errors import UserError

PARAGRAPH_BREAK = re.compile(r"\n{2,}")


def read_documents(path: Path, kind: Documents) -> Iterator[str]:
    """Yield the documents of a file; those of a .jsonl file are its objects, with their text in `text`."""
    with ByteStream(path) as stream:
        lines = read_lines(stream)
        if suffix(path) in (".jsonl", ".ndjson"):
            yield from read_objects(lines, path)
        elif kind == "line":
            yield from lines
        else:
            whole = "\n".join(lines)
            yield from [whole] if kind == "file" else PARAGRAPH_BREAK.split(whole)


def read_objects(lines: Iterator[str], path: Path) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            text = json.loads(line)["text"]
        except (ValueError, RecursionError, TypeError, KeyError):
            text = None
        if not isinstance(text, str):
            raise UserError(f'{path}:{number}: expected a JSON object with its text in "text"')
        yield text


@dataclass
class DocumentCleaner:
    """Drops documents, and counts why. A whole file is never dropped for one odd character in it."""

    config: CleanConfig
    kind: Documents
    held_out: set[bytes] = field(default_factory=set)
    """Hashes of the documents of dev and test sets."""
    seen: set[bytes] = field(default_factory=set)
    dropped: Counter[str] = field(default_factory=Counter)
    kept: int = 0

    def keeps(self, text: str) -> bool:
        reason = self.reason_to_drop(text)
        if reason is None:
            self.kept += 1
        else:
            self.dropped[reason] += 1
        return reason is None

    def reason_to_drop(self, text: str) -> str | None:
        config = self.config
        if config.empty and not text.strip():
            return "empty"
        if config.garbled and self.kind != "file" and is_garbled(text):
            return "garbled"
        digest = document_hash(text)
        if config.held_out and digest in self.held_out:
            return "held_out"
        if config.duplicates:
            if digest in self.seen:
                return "duplicates"
            self.seen.add(digest)
        return None


def document_hash(text: str) -> bytes:
    return hashlib.blake2b(" ".join(text.split()).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def split_off(text: str, share: float) -> tuple[str, str]:
    """Divide a text at a line break, so that about this share of it is in the second part."""
    at = text.rfind("\n", 0, int(len(text) * (1 - share)) + 1) + 1
    return (text[:at], text[at:]) if at else (text, "")


def is_chosen(number: int, share: float, seed: int) -> bool:
    """Whether a document, by its number, belongs to this share of all, chosen at random."""
    return int(derive(seed, number)) < share * 2**64
