"""Which entries of a dictionary teach a translation model what a word means."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from hark.data.held_out import essence
from tools.corpus_files import Pair

NOTATION = re.compile(
    r"[^\w\s'’-]|\d|\b(?:sth|sb|sby|smth|etw|jdn|jdm|jds|jmd|jmdn|jmdm|jdn|u|usw|etc)\b", re.IGNORECASE
)
SPECIES = {
    "ornith.",
    "bot.",
    "zool.",
    "min.",
    "geol.",
    "chem.",
    "biochem.",
    "astron.",
    "obs.",
    "hist.",
    "slang",
    "vulg.",
}
MOST_SENSES = 3


def choose_entries(rows: Iterable[Sequence[str]]) -> list[Pair]:
    """Entries of a dictionary that teach what a word means: short, written as in a sentence, of few senses."""
    chosen = [(row[0], row[1]) for row in rows if is_plain_entry(*row)]
    senses = [Counter(essence(pair[side]) for pair in chosen) for side in (0, 1)]
    return [pair for pair in chosen if all(senses[side][essence(pair[side])] <= MOST_SENSES for side in (0, 1))]


def is_plain_entry(en: str, de: str, label: str = "") -> bool:
    if label in SPECIES or NOTATION.search(en) or NOTATION.search(de):
        return False
    if len(en.removeprefix("to ").split()) > 3 or len(de.split()) > 3:
        return False
    return not (en.endswith("ing") and de.endswith("end"))  # most participles, of every verb
