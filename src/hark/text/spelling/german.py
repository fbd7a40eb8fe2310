"""German as it is typed without its own letters: `fuer`, `Strasse`, `schoen`."""

import gzip
import re
from functools import cache, lru_cache
from pathlib import Path

from hark.text.spelling.context import Context, match_case

PART = 6
"""Letters of a compound's last part, at least, for it to be told by that part (`Hauptbahnhoefe`)."""
HEAD = 4
"""And of what stands before it, unless that is a prefix."""
PREFIX = re.compile("ab|an|auf|aus|be|bei|ein|ent|er|ge|her|hin|los|mit|neu|um|un|ver|vor|zu")
FIRST_PART = 7
"""Letters of its first part."""
PART_WITH_ESZETT = 9
"""ss is so common that short parts are found where there are none (`Insassen`)."""
TITLES = frozenset(("herr", "herrn", "frau", "dr", "prof", "familie", "fräulein"))
SHORT = {"vllt": "vielleicht", "vlt": "vielleicht", "iwie": "irgendwie"}
_UMLAUT = re.compile("ae|oe|ue")
_HINTS = ("ss", "ue", "ae", "oe", *SHORT)


def transliterate(text: str) -> str:
    """Text in small letters without umlauts and ß."""
    return text.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue").replace("ß", "ss")


@cache
def umlauts() -> dict[str, str]:
    """Words by how they are typed; those with a capital may have it inside a sentence."""
    text = gzip.decompress((Path(__file__).parent / "umlauts.txt.gz").read_bytes()).decode()
    words, small = text.split("\n"), text.lower()
    swiss = zip(small.replace("ß", "ss").split("\n"), words, strict=True)
    return dict(each for each in swiss if "ß" in each[1]) | dict(
        zip(transliterate(small).split("\n"), words, strict=True)
    )


def is_suspect(text: str) -> bool:
    """Whether a text has anything for `mend`."""
    small = text.lower()
    return any(hint in small for hint in _HINTS)


def is_typed(word: str) -> bool:
    """Whether a word may be one that is typed without its own letters."""
    return _find(word.lower()) is not None


def mend(word: str, context: Context) -> str | None:
    """A word with its umlauts, where it is one that is typed without; None where it is not, or may be a name."""
    small = word.lower()
    found = _find(small)
    if found is None or context.is_joined() or not (word == small or word.isupper() or word[1:] == small[1:]):
        return None
    if word.istitle() and _may_be_name(found, context):
        return None
    right = match_case(found.lower(), word)
    return right if right != word else None  # STRASSE has no ß in capitals


@lru_cache(maxsize=1 << 14)
def _find(small: str) -> str | None:
    """What is typed so, in the form of the list."""
    if not is_suspect(small):
        return None
    return SHORT.get(small) or umlauts().get(small) or _mend_compound(small)


def _may_be_name(found: str, context: Context) -> bool:
    """Herr Schaefer, and a capital that the word should not have."""
    before = context.text[: context.start].rstrip(" .").rpartition(" ")[2]
    return before.lower() in TITLES or (found[0].islower() and not context.is_first())


def _mend_compound(word: str) -> str | None:
    """A compound that is not in the list, by its last part or its first; the rest must need nothing else."""
    for cut in range(2, len(word) - PART + 1):
        head = word[:cut]
        if (cut >= HEAD or PREFIX.fullmatch(head)) and (last := _find_part(word[cut:], PART)):
            if not _UMLAUT.search(head):
                return head.capitalize() + last
            for part, link in ((head, ""), (head.removesuffix("s"), "s")):
                if first := _find_part(part, PART):
                    return first.capitalize() + link + last
    for cut in range(len(word) - 3, FIRST_PART - 1, -1):
        if not _UMLAUT.search(word, cut) and (first := _find_part(word[:cut], FIRST_PART)):
            return first.capitalize() + word[cut:]
    return None


def _find_part(word: str, least: int) -> str | None:
    found = umlauts().get(word, "").lower()
    return found if found and len(word) >= (PART_WITH_ESZETT if "ß" in found else least) else None
