"""Corrections of German typed without umlauts and ß: `fuer`, `Strasse`, `schoen`."""

import gzip
import re
from functools import cache, lru_cache
from pathlib import Path

from hark.text.spelling.english import Context, match_case

PART = 6
"""Minimum letters of the last part by which a compound is recognised (`Hauptbahnhoefe`)."""
HEAD = 4
"""Minimum letters before it, unless that is a prefix."""
PREFIX = re.compile("ab|an|auf|aus|be|bei|ein|ent|er|ge|her|hin|los|mit|neu|um|un|ver|vor|zu")
FIRST_PART = 7
"""Minimum letters of the first part by which a compound is recognised."""
PART_WITH_ESZETT = 9
"""Minimum letters of a part with ß: ss is so common that shorter ones match by accident (`Insassen`)."""
TITLES = frozenset(("herr", "herrn", "frau", "dr", "prof", "familie", "fräulein"))
SHORT = {"vllt": "vielleicht", "vlt": "vielleicht", "iwie": "irgendwie"}
_UMLAUT = re.compile("ae|oe|ue")
_HINTS = ("ss", "ue", "ae", "oe", *SHORT)


def transliterate(text: str) -> str:
    """Replace lowercase umlauts and ß with ae, oe, ue and ss."""
    return text.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue").replace("ß", "ss")


@cache
def umlauts() -> dict[str, str]:
    """Return words by their transliteration; capitalised words are those that may have a capital inside a sentence."""
    text = gzip.decompress((Path(__file__).parent / "umlauts.txt.gz").read_bytes()).decode()
    words, small = text.split("\n"), text.lower()
    swiss = zip(small.replace("ß", "ss").split("\n"), words, strict=True)
    return dict(each for each in swiss if "ß" in each[1]) | dict(
        zip(transliterate(small).split("\n"), words, strict=True)
    )


def is_suspect(text: str) -> bool:
    """Whether a text may have something for `mend`."""
    small = text.lower()
    return any(hint in small for hint in _HINTS)


def is_typed(word: str) -> bool:
    """Whether a word may be typed without umlauts or ß."""
    return _find(word.lower()) is not None


def mend(word: str, context: Context) -> str | None:
    """Return the word with umlauts and ß, or None if nothing changes or it may be a name."""
    small = word.lower()
    entry = _find(small)
    if entry is None or context.is_joined() or not (word == small or word.isupper() or word[1:] == small[1:]):
        return None
    if word.istitle() and _may_be_name(entry, context):
        return None
    if _is_deliberate(word, entry, context):
        return None
    right = match_case(entry.lower(), word)
    return right if right != word else None  # STRASSE is correct in capitals


@lru_cache(maxsize=1 << 14)
def _find(small: str) -> str | None:
    """Return the word typed so, as written in the list."""
    if not is_suspect(small):
        return None
    return SHORT.get(small) or umlauts().get(small) or _mend_compound(small)


def _is_deliberate(word: str, entry: str, context: Context) -> bool:
    """Whether this is an identifier: a noun in lower case among capitals, or a word among others with their umlauts."""
    if word.islower() and entry[0].isupper() and not context.text.islower():
        return True
    return bool(_UMLAUT.search(word.lower())) and any(sign in context.text for sign in "äöüÄÖÜ")


def _may_be_name(entry: str, context: Context) -> bool:
    """Whether a word follows a title (Herr Schaefer), or has an unexpected capital."""
    before = context.text[: context.start].rstrip(" .").rpartition(" ")[2]
    titled = before.lower() in TITLES or (entry[0].islower() and not context.is_first())
    return titled or (context.before.istitle() and " " in context.text[: context.start].strip())  # Harald Koenig


def _mend_compound(word: str) -> str | None:
    """Correct a compound that is not in the list by its last or first part; the rest must need no correction."""
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
    part = umlauts().get(word, "").lower()
    return part if part and len(word) >= (PART_WITH_ESZETT if "ß" in part else least) else None
