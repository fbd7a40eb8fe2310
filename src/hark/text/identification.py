"""Identifies the language of a text, among all languages, with what is certain about it.

The detector knows sentences well, and single words badly: it has no features of "Tack" or "Hallo" at all. So its
probabilities are combined with three facts about a text: its script, letters that only some alphabets have, and words
that people type alone (`everyday.tsv`).
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hark.text.detector import base_language, load_detector, plain

GLANCE = 1000
"""Characters at the beginning of a text that are looked at."""
EXPECTED, RARE = 3.0, 0.1
"""How much likelier a language is before anything is known of the text, if it is one of those expected, or none that
many people write."""
EVERYDAY = 100.0
"""How much likelier a language is if a single word is one of its everyday words. For several words, the exponent is the
number of those divided by the square root of the number of all, because the detector knows sentences well."""
ODD = 0.02
"""How much less likely a language is for each letter that its alphabet does not have."""
COMMON = 0.5
"""How much less likely a language is than the one before it in its script."""
TINY, HARDLY = 3, 0.1
"""Letters up to which the detector counts hardly beside everyday words, and the power of its probabilities then: it is
sure that "ja" is Finnish."""
FLOOR = 1e-4
"""The least probability that the detector is believed to give."""
SCRIPT_LETTERS = 100
"""Letters that show the script of a text."""
GUESSES = 20
"""The likeliest languages of the detector that count; the others have next to no probability."""

_NO_WORD = re.compile(r"\S*[@/\\_{}\d]\S*|\S+\.\S+")
"""Addresses, names of files, placeholders, numbers and the like, which are in no language."""
_WORD = re.compile(r"[^\W\d_]+(?:['\-][^\W\d_]+)*")

ALPHABETS = {
    "en": "éèêïçñô", "de": "äöüßéà", "fr": "àâæçéèêëîïôœùûüÿ", "es": "áéíñóúüª", "it": "àèéìíîòóùú", "nl": "áéëïíóöüèê",
    "pt": "áâãàçéêíóôõúü", "pl": "ąćęłńóśźż", "sv": "åäöéà", "da": "æøåé", "no": "æøåéòô", "fi": "äöåšž",
    "tr": "çğıöşüâîû", "cs": "áčďéěíňóřšťúůýž", "sk": "áäčďéíĺľňóôŕšťúýž", "hu": "áéíóöőúüű", "ro": "ăâîșțşţ",
    "hr": "čćđšž", "sl": "čšž", "et": "äöõüšž", "lv": "āčēģīķļņšūž", "lt": "ąčęėįšųūž", "is": "áéíóúýþæðö",
    "ca": "àçéèíïóòúü·", "sq": "çë", "eo": "ĉĝĥĵŝŭ", "id": "é", "ms": "é", "sw": "", "tl": "ñ", "af": "êëéïô",
    "la": "", "ia": "", "gl": "áéíñóúü", "eu": "ñ", "oc": "àáçèéíïòóúü",
}  # fmt: skip
"""The letters of some languages beyond a to z, also those of loan words."""

SCRIPTS = {
    "HIRAGANA": ("ja",), "KATAKANA": ("ja",), "HANGUL": ("ko",), "CJK": ("zh", "ja"), "GREEK": ("el",),
    "CYRILLIC": ("ru", "uk", "bg", "sr", "mk", "be", "kk", "ky", "mn", "tg", "tt"), "HEBREW": ("he", "yi"),
    "ARABIC": ("ar", "fa", "ur", "ps", "ckb", "ug", "sd"), "THAI": ("th",), "DEVANAGARI": ("hi", "mr", "ne", "sa"),
    "BENGALI": ("bn", "as"), "TAMIL": ("ta",), "TELUGU": ("te",), "KANNADA": ("kn",), "MALAYALAM": ("ml",),
    "GUJARATI": ("gu",), "GURMUKHI": ("pa",), "SINHALA": ("si",), "GEORGIAN": ("ka",), "ARMENIAN": ("hy",),
    "ETHIOPIC": ("am",), "KHMER": ("km",), "LAO": ("lo",), "MYANMAR": ("my",), "TIBETAN": ("bo",),
}  # fmt: skip
"""The languages that are written in a script, the most common first. Latin is that of all others."""

_OTHER_SCRIPTS = {code for codes in SCRIPTS.values() for code in codes}


@dataclass(frozen=True)
class Ranking:
    """The languages that a text may be in, with their probabilities, the most likely first."""

    shares: tuple[tuple[str, float], ...]

    @property
    def best(self) -> str | None:
        """The most likely language; None: the text has no letters."""
        return self.shares[0][0] if self.shares else None

    def share(self, languages: Collection[str]) -> float:
        """The probability that the text is in one of these languages."""
        return sum(share for code, share in self.shares if code in languages)

    def among(self, languages: Collection[str]) -> list[tuple[float, str]]:
        """Some languages with their probabilities, the most likely first."""
        return sorted(((share, code) for code, share in self.shares if code in languages), reverse=True)


def rank(text: str, expected: Collection[str] = ()) -> Ranking:
    """Rank the languages that a text may be in. `expected`: base codes of those that are likely from the outset."""
    text = (
        _NO_WORD.sub("", unicodedata.normalize("NFC", text[:GLANCE])).lower().replace("i\u0307", "i").replace("’", "'")
    )
    words = _WORD.findall(text)
    letters = [each for each in text if each.isalpha()]
    if not letters:
        return Ranking(())
    guesses = _guess(" ".join(text.split()))
    script = _script(letters)
    if script:
        ordered = enumerate(SCRIPTS[script])
        shares = {code: max(guesses.get(code, 0.0), FLOOR) * COMMON**place for place, code in ordered}
    else:
        shares = _latin_shares(guesses, words, letters, expected)
    total = sum(shares.values())
    ranked = sorted(((code, share / total) for code, share in shares.items()), key=lambda each: (-each[1], each[0]))
    return Ranking(tuple(ranked))


def _guess(line: str) -> dict[str, float]:
    """The detector's probabilities of the likeliest languages; none if it has no features of the text."""
    found = load_detector()(line + "\n", GUESSES, 0.0, "strict")
    if found == _no_features():
        return {}
    guesses: dict[str, float] = {}
    for share, label in found:
        code = base_language(plain(label))
        guesses[code] = guesses.get(code, 0.0) + share
    return guesses


@cache
def _no_features() -> list[tuple[float, str]]:
    return load_detector()("\n", GUESSES, 0.0, "strict")


def _latin_shares(
    guesses: Mapping[str, float], words: Sequence[str], letters: Collection[str], expected: Collection[str]
) -> dict[str, float]:
    everyday, common = everyday_words(), common_languages()
    hits = Counter(code for word in words for code in everyday.get(word, ()))
    power = HARDLY if hits and len(letters) <= TINY else 1.0
    odd = {letter for letter in letters if not letter.isascii()}
    shares = {}
    for code in {*guesses, *common, *expected} - _OTHER_SCRIPTS:
        share = max(guesses.get(code, 0.0), FLOOR) ** power
        share *= EXPECTED if code in expected else 1.0 if code in common else RARE
        if code in hits:
            share *= EVERYDAY ** (hits[code] / math.sqrt(len(words)))
        if odd and code in ALPHABETS:
            share *= ODD ** len(odd.difference(ALPHABETS[code]))
        shares[code] = share
    return shares


def _script(letters: Sequence[str]) -> str | None:
    """The script of most letters, None for Latin."""
    first = letters[:SCRIPT_LETTERS]
    names = ("" if letter < "\u0250" else unicodedata.name(letter, "").split(" ")[0] for letter in first)
    counts = Counter(name if name in SCRIPTS else "" for name in names)
    if "HIRAGANA" in counts or "KATAKANA" in counts:
        counts["HIRAGANA"] = sum(counts.pop(each, 0) for each in ("HIRAGANA", "KATAKANA", "CJK"))
    return counts.most_common(1)[0][0] or None


@cache
def common_languages() -> frozenset[str]:
    """The languages that have everyday words."""
    return frozenset(code for codes in everyday_words().values() for code in codes)


@cache
def everyday_words() -> dict[str, tuple[str, ...]]:
    """The languages in which a word is an everyday word, by the word in lower case."""
    found: dict[str, dict[str, None]] = {}
    for line in (Path(__file__).parent / "everyday.tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            code, _, words = line.partition("\t")
            for each in words.split():
                found.setdefault(each, {})[code] = None
    return {word: tuple(codes) for word, codes in found.items()}
