"""Number words in a text and their values: "twenty-five", "fünfundzwanzig", "two and a half million", "dritte"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from hark.text.numerals import Amount, Numerals, numerals_of

MAX_WORD_LETTERS = 60
"""Longer words are no numbers; searching them would be slow."""
_TOKEN = re.compile(r"[^\W\d_]+")
_NEVER = r"(?!)"
_ROMAN = re.compile("(?=[XVI])(X{0,3}(?:IX|IV|V?I{0,3}))(?:er?|[èi]?ème)?")  # XIV, in French XIVe
Part = tuple[Literal["cardinal", "ordinal", "fraction", "scale", "link", "article"], Amount]
"""The role of a word in a number, and its value."""
_JOINT = re.compile(r"[ \u00a0-]{1,2}")
"""What may separate the parts of one number."""


def spelled_values(text: str, language: str, implied: bool = False) -> frozenset[Amount]:
    """Return the values of the number words in a text, not counting `a` and `ein`.

    With `implied`, include other words that may translate a figure: a, both, noon, zehnjährig, World War II.
    """
    lexicon = lexicon_of(language)
    if lexicon.hyphenated:
        text = lexicon.hyphenated.sub(lambda match: match[0].replace("-", ""), text)
    values: set[Amount] = set()
    run: list[Part] = []
    end = 0
    for match in _TOKEN.finditer(text):
        part, more = _look_up(lexicon, match[0]) if match.end() - match.start() <= MAX_WORD_LETTERS else _NO_NUMBER
        if implied:
            values |= more
        if run and (part is None or not _JOINT.fullmatch(text, end, match.start())):
            values |= _evaluate(run, lexicon)
            run = []
        if part is not None:
            run.append(part)
            end = match.end()
    if run:
        values |= _evaluate(run, lexicon)
    if implied and lexicon.phrase.search(small := text.lower()):
        values |= {value for phrase, value in lexicon.numerals.implied_phrases if re.search(phrase, small)}
    return frozenset(values)


def named_months(text: str, language: str) -> frozenset[int]:
    """Return the numbers of the months named in a text."""
    lexicon = lexicon_of(language)
    months = lexicon.months
    capital = lexicon.numerals.capital_months  # "may" is not a month
    names = {match[0].lower() for match in _TOKEN.finditer(text) if match[0][0].isupper() or not capital}
    return frozenset(months[name] for name in names & months.keys())


@lru_cache(maxsize=16)
def scale_pattern(language: str) -> re.Pattern[str]:
    """Return a pattern for a scale word after a figure, in its first group: "2 million"."""
    scales = "|".join(sorted(numerals_of(language).scales, key=len, reverse=True))
    return re.compile(rf"\+?[ \u00a0\u202f-]?\b({scales})\b", re.IGNORECASE)


Word = tuple[Part | None, frozenset[Amount]]
"""The role of a word in a number, and the values it implies."""
_NO_NUMBER: Word = (None, frozenset())


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The number words of a language, indexed for lookup."""

    cardinals: dict[str, Amount]
    others: dict[str, Amount]
    """Ordinals and fractions."""
    numerals: Numerals
    months: dict[str, int]
    phrase: re.Pattern[str]
    """Matches any phrase that implies a number."""
    inflection: re.Pattern[str]
    hyphenated: re.Pattern[str] | None
    beginning: re.Pattern[str]
    """Matches a number word at the start of a longer word, in languages with such compounds."""
    scale: re.Pattern[str]
    """Matches a scale word inside a longer word."""

    def cardinal(self, word: str) -> Amount | None:
        """Return the value of a lowercase word, including German compounds."""
        value = self.cardinals.get(word)
        if value is not None or not self.numerals.fused:
            return value
        if self.numerals.elision:
            short, full = self.numerals.elision
            word = word.replace(short, full)
        # The largest scale splits a word: zweihundert|tausend|dreißig.
        match = max(self.scale.finditer(word), key=lambda each: self.numerals.scales[each[0]], default=None)
        if match is None:
            return None
        left, right = word[: match.start()], word[match.end() :]
        right = right.removeprefix(self.numerals.links)
        first = self.cardinal(left) if left else 1
        last = self.cardinal(right) if right else 0
        if first is None or last is None:
            return None
        return first * self.numerals.scales[match[0]] + last


@lru_cache(maxsize=16)
def lexicon_of(language: str) -> Lexicon:
    """Return the lexicon of a language, built once."""
    numerals = numerals_of(language)
    cardinals: dict[str, Amount] = dict(numerals.aliases)
    units = [words.split("|") for words in numerals.units]
    tens = [words.split("|") for words in numerals.tens]
    for value, words in enumerate(units):
        cardinals |= dict.fromkeys(words, value)
    for n, words in enumerate(tens, 2):
        cardinals |= dict.fromkeys(words, 10 * n)
        for ten in words:
            for unit in range(1, 10):
                for name in units[unit]:
                    for pattern in numerals.fused:
                        cardinals[pattern.format(unit=name, ten=ten, cut=ten[:-1])] = 10 * n + unit
    others: dict[str, Amount] = {**numerals.ordinals, **numerals.fractions}
    if numerals.ordinal_stems:
        small, large = numerals.ordinal_stems
        others |= {word + (small if value < 20 else large): value for word, value in cardinals.items()}
        others |= numerals.ordinals
    long = "|".join(sorted(map(re.escape, cardinals), key=len, reverse=True))
    scales = "|".join(sorted(numerals.scales, key=len, reverse=True))
    beginning = re.compile(rf"((?:{long}|{scales})+)(?:{numerals.endings})" if numerals.endings else _NEVER)
    hyphens = [word for word in (*others, *cardinals) if "-" in word]
    hyphens.sort(key=len, reverse=True)
    return Lexicon(
        cardinals={word.replace("-", ""): value for word, value in cardinals.items()},
        others={word.replace("-", ""): value for word, value in others.items()},
        numerals=numerals,
        months={
            name + ending: n
            for n, names in enumerate(numerals.months, 1)
            for name in names.split("|")
            for ending in ("", "s")
        },
        phrase=re.compile("|".join(phrase for phrase, _ in numerals.implied_phrases) or _NEVER),
        inflection=re.compile(rf"(?:{numerals.inflections})$" if numerals.inflections else _NEVER),
        hyphenated=re.compile("|".join(map(re.escape, hyphens)), re.IGNORECASE) if hyphens else None,
        beginning=beginning,
        scale=re.compile(scales),
    )


@lru_cache(maxsize=8192)
def _look_up(lexicon: Lexicon, word: str) -> Word:
    """Look a word up, with a cache: most words of a text are frequent ones."""
    return _part(lexicon, word.lower()), frozenset(_implied(lexicon, word))


def _part(lexicon: Lexicon, word: str) -> Part | None:
    """Return the role of a lowercase word in a number, and its value."""
    numerals, others = lexicon.numerals, lexicon.others
    if word in numerals.scales:
        return "scale", numerals.scales[word]
    if word == numerals.links:
        return "link", 0
    value = lexicon.cardinal(word)
    if numerals.implied.get(word) == 1:  # "ein", "un": an article, unless it continues a number
        return "article", value or 0
    if value is not None:
        return "cardinal", value
    if word in others:
        return ("fraction" if word in numerals.fractions else "ordinal"), others[word]
    if word.endswith("s") and word != "seconds" and word[:-1] in others:
        return "ordinal", others[word[:-1]]
    for ending in lexicon.inflection.finditer(word):
        stem = word[: ending.start()]
        value = others.get(stem) or (lexicon.cardinal(stem[:-2]) if stem.endswith("st") else None)
        if value is not None:
            return "ordinal", value
    return None


def _implied(lexicon: Lexicon, word: str) -> Iterator[Amount]:
    small = word.lower()
    if small in lexicon.numerals.implied:
        yield lexicon.numerals.implied[small]
    if match := lexicon.beginning.match(small):
        value = lexicon.cardinal(match[1])
        if value is not None:
            yield value
    if roman := _ROMAN.fullmatch(word):
        digits = [{"I": 1, "V": 5, "X": 10}[letter] for letter in roman[1]]
        yield sum(-one if one < other else one for one, other in zip(digits, [*digits[1:], 0], strict=True))


def _evaluate(run: list[Part], lexicon: Lexicon) -> set[Amount]:
    """Return the values of adjacent number words: the numbers they form, and the parts around a link word."""
    values: set[Amount] = set()
    total: Amount = 0
    current: Amount | None = None
    scale: Amount = 1
    linked = False
    apart = not lexicon.numerals.fused and lexicon.numerals is not numerals_of("en")

    def flush() -> None:
        nonlocal total, current
        if total or current is not None:
            values.add(total + (current or 0))
        total, current = 0, None

    for kind, value in run:
        match kind:
            case "link":
                linked = True
                continue
            case "article":
                if value and current is None and total and (linked or apart):  # mil y una noches
                    current = value
                elif value and current is not None and (linked or apart) and _adds(current, value, linked, lexicon):
                    values |= set() if linked else {current}  # cent un
                    current += value
                continue
            case "scale":
                scale = value
                if current is None and not total:
                    total, current = (value, None) if value >= 1000 else (0, value)  # mille deux cents
                elif current is None and value > total and not linked:  # dos mil millones
                    total *= value
                elif value <= 100:
                    current = (current if current is not None else 1) * value
                elif current is not None and total and value > total:  # four hundred thousand million
                    total, current = (total + current) * value, None
                else:
                    total, current = total + (current if current is not None else 1) * value, None
            case "fraction" if current is None and total and linked and value < 1:  # due milioni e mezzo
                values.add(value)
                total += value * scale
            case "fraction" if current is not None and linked and value < 1:
                values.add(value)
                current += value
            case "fraction" if value < 1 and current is not None:  # three quarters, drei Viertel
                values |= {current, current * value}
                current = current * value
            case "ordinal" | "cardinal" | "fraction":
                whole = total + (current or 0)
                if linked:
                    values |= {value} | ({current} if current is not None else set())
                if current is None and total and total % 10 ** len(str(int(value))) == 0:
                    current = value  # due milioni trecentomila
                elif current is not None and _adds(current, value, linked, lexicon):
                    values |= {current} if kind == "ordinal" else set()  # "a sixty second delay"
                    current += value
                elif current is not None and 10 < whole < 100 and 10 <= value < 100 and not linked:
                    values |= {whole, value}  # nineteen ninety
                    current = 100 * whole + value
                else:
                    flush()
                    current = value
        linked = False
    flush()
    return values


def _adds(current: Amount, value: Amount, linked: bool, lexicon: Lexicon) -> bool:
    """Whether a word continues the number: a hundred (and) five, twenty-five, treinta y cinco, soixante-dix-sept."""
    if not 0 < value < 100 or current == 0:
        return False
    if current % 100 == 0:
        return True
    separate = not lexicon.numerals.fused and (not linked or lexicon.numerals is not numerals_of("en"))
    return separate and current % 10 == 0 and current % 100 >= 20 and value < (20 if current % 100 in (60, 80) else 10)
