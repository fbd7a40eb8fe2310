"""Translation memory: translations that people approved, reused where the same text occurs again.

Memories are on disk, as TMX, or as SQLite if they are large. For a text that a memory does not have, it finds the most
similar one: an index of words picks candidates, which are then compared.
"""

import math
import re
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from hark.atomic import replace_file
from hark.data.compression import ByteStream
from hark.data.tmx import MissingPairError, parse_tmx
from hark.documents.formats import SegmentKey, SegmentOutcome
from hark.documents.messages import keeps_placeholders
from hark.documents.tmx import TranslationUnit, add_units, new_tmx
from hark.errors import HarkError, UserError, require
from hark.translate.align import Link, word_spans
from hark.translate.translation import Translation, shift

MIN_SIMILARITY = 0.75
"""Minimum similarity: twice the length of the longest common subsequence, as a share of both texts."""
MAX_CANDIDATES = 100
"""Texts that share most words with a text: these are compared with it."""
MAX_POSTINGS = 50_000
"""Entries of the index to look at for a text. Rare words come first, which tell more."""
STEM_LETTERS = 5
"""Letters of a word that are compared: endings differ."""
MAX_FEW_WORDS, MAX_WORD_LETTERS = 5, 15
"""Texts of at most so many words, and words of more letters, as in scripts without spaces, are also compared by three
letters at a time."""
_BUCKETS = 1 << 20
_WORD = re.compile(r"\w+")


class SimilarTexts:
    """An index of texts. It takes about 150 bytes of memory for a text; the texts are in a temporary file."""

    def __init__(self, texts: Iterable[str]) -> None:
        require("rapidfuzz", "documents", "finding similar texts in a memory")
        self._texts = sqlite3.connect("")  # a file without a name, which goes when it is closed
        self._texts.execute("PRAGMA journal_mode = OFF")
        self._texts.execute("CREATE TABLE texts (number INTEGER PRIMARY KEY, text TEXT NOT NULL)")
        lengths, entries = array("L"), array("Q")

        def rows() -> Iterator[tuple[int, str]]:
            for number, text in enumerate(texts):
                lengths.append(len(text))
                entries.extend(word << 32 | number for word in _words(text))
                yield number, text

        self._texts.executemany("INSERT INTO texts VALUES (?, ?)", rows())
        self._lengths = np.array(lengths, np.uint32)
        sorted_entries = np.frombuffer(entries, np.uint64)
        sorted_entries.sort()
        self._numbers = (sorted_entries & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        """The texts of the first word, then those of the second, and so on."""
        self._starts = np.searchsorted(sorted_entries, np.arange(_BUCKETS + 1, dtype=np.uint64) << np.uint64(32))
        """Where the texts of each word begin."""

    def find(self, text: str) -> tuple[str, float] | None:
        """The text that is most similar to another one, and its similarity; None if none is similar enough."""
        from rapidfuzz import fuzz, process

        found: Any = process.extractOne(
            text, self._candidates(text), scorer=fuzz.ratio, processor=None, score_cutoff=100 * MIN_SIMILARITY
        )
        return None if found is None else (found[0], found[1] / 100)

    def _candidates(self, text: str) -> list[str]:
        """The texts of about the same length that share most words with a text, rare ones counting more."""
        total = len(self._lengths)
        words = np.fromiter(_words(text), np.int64)
        sizes = self._starts[words + 1] - self._starts[words]
        order = np.argsort(sizes, kind="stable")
        words, sizes = words[order], sizes[order]
        read = np.cumsum(sizes) <= max(MAX_POSTINGS, sizes[:1].sum())
        lists = [self._numbers[self._starts[word] : self._starts[word + 1]] for word in words[read]]
        if not total or not lists:
            return []
        weights = [np.full(len(each), math.log(1 + total / len(each))) for each in lists if len(each)]
        shared = np.bincount(np.concatenate(lists), np.concatenate([*weights, []]), total)
        share = MIN_SIMILARITY / (2 - MIN_SIMILARITY)  # texts that differ more in length cannot be similar enough
        shared[(self._lengths < share * len(text)) | (self._lengths > len(text) / share)] = 0
        best = np.argpartition(shared, -min(MAX_CANDIDATES, total))[-MAX_CANDIDATES:]
        chosen = [int(each) for each in best if shared[each]]
        marks = ", ".join("?" * len(chosen))
        return [row[0] for row in self._texts.execute(f"SELECT text FROM texts WHERE number IN ({marks})", chosen)]


def _words(text: str) -> set[int]:
    """The words of a text, as numbers; and the parts of words if there are few of them."""
    words = _WORD.findall(text.casefold())
    parts = {word[:STEM_LETTERS] for word in words}
    for word in words if len(words) <= MAX_FEW_WORDS else [word for word in words if len(word) > MAX_WORD_LETTERS]:
        parts.update(word[at : at + 3] for at in range(max(1, len(word) - 2)))
    return {crc32(part.encode("utf-8", "replace")) % _BUCKETS for part in parts}


@dataclass(frozen=True)
class FuzzyMatch:
    """A unit of the memory whose source is similar to a text."""

    source: str
    target: str
    similarity: float


class Memory:
    def __init__(self, find: Callable[[str], str | None], sources: Callable[[], Iterable[str]]) -> None:
        """`find` returns the translation of a source text, `sources` all source texts."""
        self._find, self._sources = find, sources

    def exact(self, text: str) -> str | None:
        """The translation of this very text; white space around it does not matter, and is kept.

        A translation without the placeholders of the source is not used.
        """
        core = text.strip()
        target = self._find(core) if core else None
        if target is None or not keeps_placeholders(core, target):
            return None
        start = len(text) - len(text.lstrip())
        return text[:start] + target.strip() + text[start + len(core) :]

    def similar(self, text: str) -> FuzzyMatch | None:
        """The unit whose source is most similar to a text, if similar enough; not the text itself."""
        core = text.strip()
        found = self._index.find(core)
        if found is None or found[0] == core or (target := self._find(found[0])) is None:
            return None
        return FuzzyMatch(found[0], target, round(found[1], 3))

    @cached_property
    def _index(self) -> SimilarTexts:
        return SimilarTexts(self._sources())


def recall(memory: Memory, key: SegmentKey, translation: Translation) -> SegmentOutcome | None:
    """The outcome of a segment that the model has translated and the memory knows, as a whole or some sentences of it.

    The word links of the model's translation are carried over, because they place the tags.
    """
    if (whole := memory.exact(key[0])) is not None:
        return SegmentOutcome(whole, carry_links(translation.links, translation.text, whole), "memory")
    sentences = translation.sentences
    known = [memory.exact(each.source) for each in sentences]
    wrapped = translation.layout.join([each.text for each in sentences]) != translation.text
    if wrapped or not any(each is not None for each in known):
        return None
    texts = [each.text if text is None else text for each, text in zip(sentences, known, strict=True)]
    rest = [each for each, text in zip(sentences, known, strict=True) if text is None]
    return SegmentOutcome(
        translation.layout.join(texts),
        tuple(_links(translation, texts)),
        "model" if rest else "memory",
        Translation("", "", tuple(rest), translation.layout).reasons,
    )


def _links(translation: Translation, texts: Sequence[str]) -> Iterator[Link]:
    gaps = translation.layout.around(texts)
    start = len(gaps[0])
    for sentence, text, gap in zip(translation.sentences, texts, gaps[1:], strict=True):
        links = sentence.links if text == sentence.text else carry_links(sentence.links, sentence.text, text)
        for each in links:
            yield Link(shift(each.source, sentence.source_start), shift(each.target, start), each.weight)
        start += len(text) + len(gap)


def carry_links(links: Sequence[Link], text: str, other: str) -> tuple[Link, ...]:
    """Word links of another translation of the same source: words in common keep theirs, those between are estimated
    by position."""
    by_target: dict[tuple[int, int], list[Link]] = {}
    for each in links:
        by_target.setdefault(each.target, []).append(each)
    before, after = word_spans(text), word_spans(other)
    matcher = SequenceMatcher(None, [text[slice(*span)] for span in before], [other[slice(*span)] for span in after])
    carried: list[Link] = []
    for _, start, end, other_start, other_end in matcher.get_opcodes():
        for place in range(other_start, other_end if end > start else other_start):
            origin = start + (place - other_start) * (end - start) // (other_end - other_start)
            carried += [Link(each.source, after[place], each.weight) for each in by_target.get(before[origin], ())]
    return tuple(carried)


APPLICATION = 0x4841524B
"""The id of our files in the header of SQLite: "HARK"."""
VERSION = 1
_SQLITE = (".sqlite", ".sqlite3", ".db")
_TABLE = """
    CREATE TABLE units (
        source_language TEXT NOT NULL, target_language TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
        PRIMARY KEY (source_language, target_language, source)
    ) WITHOUT ROWID
"""
_INSERT = "INSERT OR REPLACE INTO units VALUES (?, ?, ?, ?)"
CACHE_KIB = 1 << 16
"""Memory that a TMX file may take; the rest is on disk."""


def open_memory(path: Path, source: str, target: str) -> Memory:
    """Open the memory of one pair of languages. Of several translations of a text, the last counts.

    A TMX file is read into a temporary database: large memories do not fit into memory.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such memory; make one with hark memory add")
    if not _is_sqlite(path):
        return _search(_import_tmx(path, source, target), source, target)
    with _explained(path):
        memory = _search(database := _connect(path), source, target)
        where = "source_language = ? AND target_language = ?"
        if database.execute(f"SELECT 1 FROM units WHERE {where} LIMIT 1", (source, target)).fetchone() is None:
            raise MissingPairError(f"{path}: has nothing from {source} to {target}")
        return memory


def _search(database: sqlite3.Connection, source: str, target: str) -> Memory:
    where = "FROM units WHERE source_language = ? AND target_language = ?"

    def find(text: str) -> str | None:
        row = database.execute(f"SELECT target {where} AND source = ?", (source, target, text)).fetchone()
        return None if row is None else str(row[0])

    def sources() -> Iterator[str]:
        return (str(each[0]) for each in database.execute(f"SELECT source {where}", (source, target)))

    return Memory(find, sources)


def _import_tmx(path: Path, source: str, target: str) -> sqlite3.Connection:
    database = sqlite3.connect("")  # SQLite writes it to a file without a name once it is larger than the cache
    for setting in (f"cache_size = -{CACHE_KIB}", "journal_mode = OFF", "synchronous = OFF"):
        database.execute(f"PRAGMA {setting}")
    database.execute(_TABLE)
    with ByteStream(path) as stream:
        pairs = parse_tmx(stream, source, target)
        database.executemany(_INSERT, ((source, target, one.strip(), other) for one, other in pairs))
    return database


def add_to_memory(path: Path, pairs: Iterable[tuple[str, str]], source: str, target: str) -> tuple[int, int]:
    """Add pairs to a memory, which is created if it does not exist; return how many are new, and how many replace
    another translation."""
    wanted = {one.strip(): other.strip() for one, other in pairs if one.strip() and other.strip()}
    known: Memory | None = None
    if path.exists():
        with suppress(MissingPairError):
            known = open_memory(path, source, target)
    before = {one: known.exact(one) if known else None for one in wanted}
    changed = {one: other for one, other in wanted.items() if before[one] != other}
    replaced = sum(before[one] is not None for one in changed)
    if _is_sqlite(path):
        with _explained(path), closing(_connect(path)) as database, database:
            database.executemany(_INSERT, [(source, target, one, other) for one, other in changed.items()])
    elif changed or not path.exists():
        units = [TranslationUnit(one, other) for one, other in changed.items()]
        with path.open("rb") if path.exists() else BytesIO(new_tmx(source)) as file:
            replace_file(path, add_units(file, units, source, target, path))
    return len(changed) - replaced, replaced


def _is_sqlite(path: Path) -> bool:
    suffix = path.suffix.lower()
    if suffix not in (".tmx", *_SQLITE):
        raise UserError(f"{path}: a memory must be a .tmx or .sqlite file")
    return suffix in _SQLITE


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    if not database.execute("PRAGMA schema_version").fetchone()[0]:  # a new file
        database.execute(_TABLE)
        database.execute(f"PRAGMA application_id = {APPLICATION}")
        database.execute(f"PRAGMA user_version = {VERSION}")
        database.commit()
    marks = [database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
    if marks != [APPLICATION, VERSION]:
        database.close()
        raise UserError(f"{path}: not a translation memory of this version of hark")
    return database


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):  # no folder, no permission, locked, a full disk
            raise HarkError(f"{path}: {error}") from None
        raise UserError(f"{path}: not an SQLite file: {error}") from None
