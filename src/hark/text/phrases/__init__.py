"""Phrase tables: fixed translations of whole lines such as greetings, letter formulas, buttons and signs.

A model takes "Kind regards" or "Cancel" for the start of a sentence, so a line that is exactly a phrase is looked up
here instead. Tables are TSV files (source, target, an optional note that is ignored; lines with `#` are comments), the
same format as translation memories. Tables for English and German are bundled; users can add their own, which take
precedence.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hark.errors import UserError, warn_skipped
from hark.text.detector import base_language
from hark.userfiles import read_bytes

BUNDLED = Path(__file__).parent
"""The folder of the bundled tables."""
SLACK = 16
"""Characters by which a line may exceed the longest phrase: spaces and repeated punctuation at the end."""
_FINAL = ".,:;!?…"
_TYPED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "'": ""})
_QUOTES = str.maketrans(dict.fromkeys("’‘‛´`ʼ′", "'") | dict.fromkeys("“”„‟«»", '"'))


def read_phrases(path: Path) -> dict[str, str]:
    """Read a table: a mapping from sources to targets, as written."""
    phrases: dict[str, str] = {}
    seen: dict[str, tuple[int, str]] = {}
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}:{line}: not UTF-8; convert the file to UTF-8") from None
    for number, row in enumerate(text.split("\n"), start=1):
        if not row.strip() or row.lstrip().startswith("#"):
            continue
        source, target = _read_columns(row, f"{path}:{number}")
        first, other = seen.setdefault(_normalise(source), (number, target))
        if other != target:
            raise UserError(f"{path}:{number}: '{source}' is translated as '{other}' in line {first}; keep only one")
        phrases[source] = target
    return phrases


def _read_columns(row: str, where: str) -> tuple[str, str]:
    columns = [" ".join(column.split()) for column in row.split("\t")]
    if len(columns) not in (2, 3):
        raise UserError(f"{where}: {len(columns)} columns; expected source, tab, target (and optionally tab, note)")
    source, target = columns[:2]
    if not _core(_normalise(source)):
        raise UserError(f"{where}: no words in the source (first column)")
    if not target:
        raise UserError(f"{where}: empty target (second column)")
    return source, target


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase without its final punctuation, and its translation."""

    core: str
    mark: str
    """Its final punctuation."""
    target: str
    table: int
    """Index of its table; later tables take precedence."""


class Phrases:
    """Looks up lines that are exactly a phrase; later tables take precedence.

    Case, quotes, apostrophes, umlauts (`Tschuess`), spaces and final punctuation may differ. The translation gets the
    final punctuation of the line (`Kind regards!`), or none. If both have punctuation, either both or neither must
    be a question. A phrase with exactly the punctuation of the line is preferred, then one with its case (`Morgen` and
    `morgen`).
    """

    def __init__(self, tables: Iterable[Mapping[str, str]]) -> None:
        self._phrases: dict[str, list[Phrase]] = {}
        self._longest = 0
        for number, table in enumerate(tables):
            for source, target in table.items():
                core, mark = _split(source)
                self._phrases.setdefault(_key(core), []).append(Phrase(core, mark, target, number))
                self._longest = max(self._longest, len(source) + SLACK)

    def __len__(self) -> int:
        return sum(map(len, self._phrases.values()))

    def lookup(self, line: str) -> str | None:
        """Return the translation of a line, or None if it is not a phrase."""
        if len(line) > self._longest:  # nearly every sentence
            return None
        core, mark = _split(line)
        candidates = [each for each in self._phrases.get(_key(core), ()) if _agree(each.mark, mark)]
        if not candidates:
            return None
        best = max(candidates, key=lambda each: (each.table, each.mark == mark, not each.mark, each.core == core))
        return _adapt(best, core, mark)


def _key(core: str) -> str:
    """Return the lookup key of a phrase: without case, umlauts (ae for ä) or apostrophes."""
    return core.casefold().translate(_TYPED)


def _agree(of_phrase: str, of_line: str) -> bool:
    """Whether a phrase may match a line with different final punctuation."""
    return not of_phrase or not of_line or ("?" in of_phrase) == ("?" in of_line)


def _adapt(phrase: Phrase, core: str, mark: str) -> str:
    """Return the translation with the case and final punctuation of the line."""
    target = phrase.target if mark == phrase.mark else _core(phrase.target) + mark
    if core.isupper() and not phrase.core.isupper() and len(core) > 1:
        return target.upper()
    # Capitalise but never lowercase the first letter: a noun, a name or "I" keeps its capital anywhere.
    return target[:1].upper() + target[1:] if core[:1].isupper() and phrase.core[:1].islower() else target


def _normalise(text: str) -> str:
    if not text.isascii() or "`" in text:
        text = text.translate(_QUOTES)
    return " ".join(text.split())


def _core(text: str) -> str:
    """Return a text without its final punctuation."""
    return text.rstrip(_FINAL).rstrip()


def _split(line: str) -> tuple[str, str]:
    """Split a line, normalised, into its text and its final punctuation."""
    text = _normalise(line)
    core = _core(text)
    return core, text[len(core) :].lstrip()


def find_table(folder: Path, source: str, target: str) -> Path | None:
    """Return the table of a language pair in a folder (`en-de.tsv`); one with exactly these codes is preferred."""
    for pair in (f"{source}-{target}", f"{base_language(source)}-{base_language(target)}"):
        path = folder / f"{pair}.tsv"
        if path.is_file():
            return path
    return None


def find_own_table(folder: Path, source: str, target: str) -> Path | None:
    """Return the user's table of a language pair, unless it cannot be read."""
    try:
        path = find_table(folder, source, target)
        if path is not None:
            path.open("rb").close()
    except OSError as error:
        warn_skipped(folder if error.filename is None else Path(error.filename), error)
        return None
    return path


def open_phrases(source: str, target: str, folder: Path | None = None) -> Phrases:
    """Open the bundled table, and the user's table in `folder`, which takes precedence."""
    bundled = find_table(BUNDLED, source, target)
    own = find_own_table(folder, source, target) if folder is not None else None
    if bundled and not own:
        return _open_bundled(bundled)
    return Phrases(read_phrases(path) for path in (bundled, own) if path)


@cache
def _open_bundled(path: Path) -> Phrases:
    """A table that never changes, which several models of a process may use."""
    return Phrases([read_phrases(path)])
