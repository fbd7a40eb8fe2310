"""A table of whole lines with fixed translations: greetings, letter formulas, buttons, signs.

A model takes "Kind regards" or "Cancel" for the beginning of a sentence. A line that is exactly a phrase is looked up
here instead. Tables are TSV files (source, target, an optional note that is ignored; lines with `#` are comments), the
same as a translation memory's. Those for English and German lie beside this file; people add their own, which win.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hark.errors import UserError
from hark.text.detector import base_language

SHIPPED = Path(__file__).parent
"""Where the tables lie that come with hark."""
SLACK = 16
"""Characters by which a line may be longer than the longest phrase: spaces and repeated signs at its end."""
_FINAL = ".,:;!?…"
_TYPED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "'": ""})
_QUOTES = str.maketrans(dict.fromkeys("’‘‛´`ʼ′", "'") | dict.fromkeys("“”„‟«»", '"'))


def read_phrases(path: Path) -> dict[str, str]:
    """The translations of a table by their sources, as both are written there."""
    found: dict[str, str] = {}
    seen: dict[str, tuple[int, str]] = {}
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}:{line}: not UTF-8; save the file as UTF-8") from None
    for number, row in enumerate(text.split("\n"), start=1):
        if not row.strip() or row.lstrip().startswith("#"):
            continue
        source, target = _read_columns(row, f"{path}:{number}")
        first, other = seen.setdefault(_normalise(source), (number, target))
        if other != target:
            raise UserError(f"{path}:{number}: '{source}' is translated as '{other}' in line {first}; keep one of them")
        found[source] = target
    return found


def _read_columns(row: str, where: str) -> tuple[str, str]:
    columns = [" ".join(column.split()) for column in row.split("\t")]
    if len(columns) not in (2, 3):
        raise UserError(f"{where}: {len(columns)} columns; write source, tab, target (and after a tab, a note)")
    source, target = columns[:2]
    if not _core(_normalise(source)):
        raise UserError(f"{where}: the source (first column) has no words")
    if not target:
        raise UserError(f"{where}: the target (second column) is empty")
    return source, target


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase, without its final punctuation, and its translation."""

    core: str
    mark: str
    """Its final punctuation."""
    target: str
    table: int
    """The number of its table: later ones win."""


class Phrases:
    """Translations of lines that are exactly a phrase; later tables win over earlier ones.

    Case, quotes, apostrophes, umlauts (`Tschuess`), spaces and final punctuation may differ. A phrase without final
    punctuation takes that of the line (`Kind regards!`). One with punctuation loses it where the line has none, or
    takes the line's, unless only one of them asks a question. The phrase with exactly the line's punctuation comes
    first, then the one with its case (`Morgen` and `morgen`).
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
        """The translation of a line, or None where it is no phrase."""
        if len(line) > self._longest:  # nearly every sentence
            return None
        core, mark = _split(line)
        fitting = [each for each in self._phrases.get(_key(core), ()) if _agree(each.mark, mark)]
        if not fitting:
            return None
        best = max(fitting, key=lambda each: (each.table, each.mark == mark, not each.mark, each.core == core))
        return _adapt(best, core, mark)


def _key(core: str) -> str:
    """What a phrase is found by, however it is typed: without case, umlauts (ae for ä) or apostrophes."""
    return core.casefold().translate(_TYPED)


def _agree(of_phrase: str, of_line: str) -> bool:
    """Whether a phrase with one final punctuation may stand for a line with another."""
    return not of_phrase or not of_line or ("?" in of_phrase) == ("?" in of_line)


def _adapt(phrase: Phrase, core: str, mark: str) -> str:
    """The translation with the line's capitals and final punctuation."""
    target = phrase.target if mark == phrase.mark else _core(phrase.target) + mark
    if core.isupper() and not phrase.core.isupper() and len(core) > 1:
        return target.upper()
    # A first letter is raised but never lowered: a noun, a name or "I" has its capital wherever it stands.
    return target[:1].upper() + target[1:] if core[:1].isupper() and phrase.core[:1].islower() else target


def _normalise(text: str) -> str:
    if not text.isascii() or "`" in text:
        text = text.translate(_QUOTES)
    return " ".join(text.split())


def _core(text: str) -> str:
    """A text without its final punctuation."""
    return text.rstrip(_FINAL).rstrip()


def _split(line: str) -> tuple[str, str]:
    """A line, normalised, as what it says and its final punctuation."""
    text = _normalise(line)
    core = _core(text)
    return core, text[len(core) :].lstrip()


def find_table(folder: Path, source: str, target: str) -> Path | None:
    """The table for a pair of languages in a folder, `en-de.tsv`; one for exactly these codes comes first."""
    for pair in (f"{source}-{target}", f"{base_language(source)}-{base_language(target)}"):
        path = folder / f"{pair}.tsv"
        if path.is_file():
            return path
    return None


def open_phrases(source: str, target: str, folder: Path | None = None, files: Iterable[Path] = ()) -> Phrases:
    """What comes with hark, a person's own table in `folder`, and files that were named; later ones win."""
    folders = [SHIPPED] if folder is None else [SHIPPED, folder]
    found = [find_table(each, source, target) for each in folders]
    return Phrases(read_phrases(path) for path in (*found, *files) if path)
