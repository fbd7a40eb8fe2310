"""Cleaning rules: small functions that decide whether to drop a pair, each with a setting of the same name.

`Cleaner` applies them to one pair at a time. Finding duplicates takes the whole corpus: see `duplicates.py`.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from hark.config import CleanConfig
from hark.data.held_out import HeldOut
from hark.data.language import LanguageCheck
from hark.text.detector import base_language
from hark.text.vocabulary import normalise

# In order of application; a pair counts for the first rule that drops it.
RULES = (
    "garbled",
    "empty",
    "max_words",
    "max_chars",
    "max_ratio",
    "identical",
    "min_letters",
    "language",
    "held_out",
    "duplicates",
)

Rule = Callable[[str, str], bool]
TextLength = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A pair as normalised text, and the rule that dropped it (None if kept)."""

    source: str
    target: str
    rule: str | None


class Cleaner:
    """Normalises pairs and applies the rules to them, one pair at a time."""

    def __init__(self, config: CleanConfig, source: str, target: str, held_out: HeldOut | None = None) -> None:
        self.garbled = config.garbled
        self.tidy = normalise if config.normalise else make_writable
        self.rules = build_rules(config, source, target, held_out)

    def __call__(self, source: str, target: str) -> Verdict:
        # Check the raw text: in mojibake, no-break spaces and soft hyphens are the second bytes of letters.
        garbled = self.garbled and (is_garbled(source) or is_garbled(target))
        source, target = self.tidy(source), self.tidy(target)
        if garbled:
            return Verdict(source, target, "garbled")
        for name, drops in self.rules:
            if drops(source, target):
                return Verdict(source, target, name)
        return Verdict(source, target, None)


def build_rules(config: CleanConfig, source: str, target: str, held_out: HeldOut | None) -> list[tuple[str, Rule]]:
    """Return the enabled rules by name, in order, with their settings bound."""
    rules: list[tuple[str, Rule]] = []
    if config.empty:
        rules.append(("empty", has_empty_side))
    rules.append(("max_words", partial(has_many_words, config.max_words, count_words(source), count_words(target))))
    rules.append(("max_chars", partial(has_many_characters, config.max_chars)))
    rules.append(("max_ratio", partial(differs_in_length, config.max_ratio, extent(source), extent(target))))
    if config.identical and source != target:  # in one language, a text may need no correction
        rules.append(("identical", is_identical))
    if config.min_letters > 0:
        rules.append(("min_letters", partial(lacks_letters, config.min_letters)))
    if config.language < 1:
        checks = LanguageCheck(source, config.language), LanguageCheck(target, config.language)
        rules.append(("language", partial(is_in_another_language, *checks)))
    if config.held_out and held_out:
        rules.append(("held_out", held_out.has))
    return rules


# Garbled text

# Control characters (except white space), the replacement character, noncharacters, lone surrogates, private use.
BROKEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff\ue000-\uf8ff\ufffd-\uffff\U000f0000-\U0010ffff]"
)

# UTF-8 decoded as Windows-1252 (mojibake): a letter from Â to ô, then one to three characters for the bytes 80 to BF.
# Such sequences also occur in good text („Spaß“, « déjà », IRMÃ…), so only those that no language writes count.
CONTINUATION = bytes(range(0x80, 0xC0)).decode("cp1252", "ignore")
MAY_END_A_WORD = "\u00a0«»‘’“”‚„…–—•‹›"
SIGN = "".join(char for char in CONTINUATION if char not in MAY_END_A_WORD)
LETTER = r"[^\W\d_]"
SUSPECT = re.compile(f"[\u00c2-\u00f4][{CONTINUATION}]")
MOJIBAKE = re.compile(
    "|".join(
        (
            f"[ÂÃÄ][{SIGN}]|Å[{SIGN.translate(dict.fromkeys(map(ord, '²³¹')))}]",  # Ã¼, Â£, Ä‡; but not 5 Å²
            f"(?<=[a-zß-öø-ÿ])[ÂÃÄÅ][{CONTINUATION}]",  # a lowercase letter before an uppercase one: fÃ»r, mÅ‚ody
            f"(?<!{LETTER})Ã(?:\u00a0|[{CONTINUATION}](?={LETTER}))",  # Ã–sterreich
            f"(?:[ÎÏÐÑ×ØÙÚÛ][{CONTINUATION}]){{3}}",  # Greek, Cyrillic, Hebrew, Arabic
            f"(?:[à-ï][{CONTINUATION}]{{2}}){{2}}",  # Indic, Thai, Chinese, Japanese, Korean
            "â€|â‚¬|â„¢|áº|ï»¿|ï¿½|ðŸ",  # quotes and dashes, €, ™, Vietnamese, byte-order mark, emoji
        )
    )
)


def is_garbled(text: str) -> bool:
    if "\ufffd" in text or (not text.isprintable() and BROKEN.search(text)):
        return True
    return not text.isascii() and bool(SUSPECT.search(text) and MOJIBAKE.search(text))


def make_writable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


# Length

# Characters per word in scripts that do not separate words by spaces.
WORD_CHARS = {"zh": 2, "yue": 2, "wuu": 2, "ja": 2, "th": 5, "lo": 5, "km": 5, "my": 5, "bo": 3}
# Languages whose scripts write in one character what an alphabet writes in two or three.
DENSE_LANGUAGES = {"zh", "yue", "wuu", "ja", "ko"}
DENSE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]")
DENSITY = 2.5
# Characters added to both lengths before the comparison, so that "Ja." may translate "Yes, of course I do."
ALLOWANCE = 20


def has_empty_side(source: str, target: str) -> bool:
    return not source.strip() or not target.strip()


def count_words(language: str) -> TextLength:
    chars = WORD_CHARS.get(base_language(language))
    if chars:
        return lambda text: len(text) / chars
    return lambda text: len(text.split())


def has_many_words(most: int, source_words: TextLength, target_words: TextLength, source: str, target: str) -> bool:
    # A text has at most (characters + 1) / 2 words.
    return (len(source) >= 2 * most and source_words(source) > most) or (
        len(target) >= 2 * most and target_words(target) > most
    )


def has_many_characters(most: int, source: str, target: str) -> bool:
    return len(source) > most or len(target) > most


def extent(language: str) -> TextLength:
    """Return a measure of text length that is comparable between scripts."""
    if base_language(language) in DENSE_LANGUAGES:
        return lambda text: len(text) + (DENSITY - 1) * len(DENSE.findall(text))
    return len


def differs_in_length(
    most: float, source_extent: TextLength, target_extent: TextLength, source: str, target: str
) -> bool:
    one, other = source_extent(source) + ALLOWANCE, target_extent(target) + ALLOWANCE
    return one > most * other or other > most * one


# Content


def is_identical(source: str, target: str) -> bool:
    return len(source) == len(target) and source.casefold() == target.casefold()


NOT_ASCII_LETTERS = bytes(code for code in range(256) if not (code < 128 and chr(code).isalpha()))


def lacks_letters(share: float, source: str, target: str) -> bool:
    return has_few_letters(share, source) or has_few_letters(share, target)


def has_few_letters(share: float, text: str) -> bool:
    """Whether letters and their combining marks are less than this share of all non-space characters."""
    # In most Latin-script text the ASCII letters alone reach the share, and they are fast to count.
    if len(text.encode("utf-8", "replace").translate(None, NOT_ASCII_LETTERS)) >= share * len(text):
        return False
    letters = sum(unicodedata.category(char)[0] in "LM" for char in text)
    return letters < share * (len(text) - text.count(" "))


def is_in_another_language(source_check: LanguageCheck, target_check: LanguageCheck, source: str, target: str) -> bool:
    return source_check.is_foreign(source) or target_check.is_foreign(target)
