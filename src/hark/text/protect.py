"""What must come out of a translation as it went in: found in the source, looked for in the translation, put back.

Nothing here asks a model: `find` gives the items of a sentence, `restore` compares a translation with them. What to do
when one is lost is decided in `attempts.py`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal
from unicodedata import name

from hark.text.normalise import normalise
from hark.text.rewrite import Rewriting, Span

Kind = Literal["address", "placeholder", "markup", "quantity", "number", "word", "symbol"]
"""Addresses (web, e-mail, @name) and code; placeholders; tags; numbers with units; long numbers; words and symbols in
characters that the model's vocabulary lacks. A number without a unit may be written as the target language does."""

# Units that are no words of their own ("10 pm", German "142 um"). They are matched after a number only. Money is left
# out: languages say it so differently ("$90 million", "90 Millionen Dollar") that only its number is looked for.
_UNITS = (
    r"[kMGT]?i?B/s|[kMG]?bit/s|(?:km|m|mi)/[hs]|[kMGT]?i?B|mph|kWh|[kMG]?Wh?|[nµmkdc]?m[²³23]?|[nµmkM]?g|[µmdch]?[lL]|"
    r"[mk]?V|[mµ]A|[kMG]?Hz|[kM]?Pa|[mh]?bar|k?cal|kJ|kN|dB|lbs?|oz|ft|yd|px|ppm|rpm|[nµm]s|min|(?<=\s)[hs]|°\s?[CF]?|[%‰]"
)
_FIGURE = r"(?>\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)|\d+(?:[.,:/'’]\d+)*)"
_SHAPES: tuple[tuple[Kind, str], ...] = (
    ("address", r"`[^`\n]+`"),
    ("address", r"(?:https?|ftp|file)://[^\s<>\"“”]*[\w/=&#~$+-]|mailto:[^\s<>\"]*\w|\bwww\.[^\s<>\"“”]*[\w/=&#~$+-]"),
    ("address", r"(?<![\w.+%-])[\w.+%-]+@[\w-]+(?:\.[\w-]+)+|(?<![\w@])@\w[\w.]*\w"),
    ("markup", r"</?[A-Za-z][^<>\n]*>|<!--.*?-->|&(?:[A-Za-z]\w{1,30}|\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6});"),
    (
        "placeholder",
        r"\$?\{\{[^{}\n]{1,80}\}\}|\{\s*\w+\s*,\s*(?:plural|select|selectordinal)\b(?:[^{}]|\{[^{}]*\})*\}",
    ),
    ("placeholder", r"[$#]?\{\s*[\w.$:!\#,%<>\[\]+-]*\s*\}"),
    ("placeholder", r"%(?:\d+\$|\(\w+\))?[-+0\#]{0,3}\d*(?:\.\d+)?(?:hh?|ll?|[zjt])?[sdifuxXgGeEco@](?!\w)|%%|%\d+\b"),
    ("quantity", rf"(?<![\w.,]){_FIGURE}[ \u00a0\u202f]?(?:{_UNITS})(?![\w°%]|\.\w)"),
    ("number", rf"(?<!\w){_FIGURE}"),
)
_ITEMS = re.compile("|".join(f"(?P<{kind}_{i}>{shape})" for i, (kind, shape) in enumerate(_SHAPES)))
# Text without any of these characters has no item of these shapes.
_HINT = re.compile(r"[\d`@<&{%$]|://|www\.|mailto:")
# Words may spell out short and round numbers and the time of day ("twelve", "a thousand", "half past three"); other
# numbers must be there in figures.
_SPELLABLE = re.compile(r"\d{1,2}(?:[.,'’ \u00a0\u202f]?000)*|[1-9]?0+|\d{1,2}:\d\d")
_THOUSANDS = "[.,'’ ]?"
_LETTER = r"[\w\u0300-\u036f]"
_WORD = re.compile(rf"{_LETTER}+(?:['’.-]{_LETTER}+)*")
_QUANTITY = re.compile(r"(\d+(?:[.,:/'’ ]\d+)*)(.*)")


@dataclass(frozen=True)
class Item:
    """A stretch of a sentence that is to come out unchanged."""

    start: int
    end: int
    text: str
    kind: Kind
    shown: str = ""
    """What the model sees in its place, if not the item itself."""

    @property
    def exact(self) -> bool:
        """Whether it must come out letter by letter."""
        return self.kind != "number"

    @property
    def span(self) -> Span:
        return self.start, self.end


def find(text: str, unknown: Callable[[str], str]) -> tuple[Item, ...]:
    """The items of a sentence, in order and apart from each other.

    `unknown` tells which characters of a text the model cannot be expected to copy: emoji, other scripts.
    """
    found: list[Item] = []
    if _HINT.search(text):
        for match in _ITEMS.finditer(text):
            kind: Kind = match.lastgroup.rsplit("_", 1)[0]  # type: ignore[assignment,union-attr]
            if kind != "number" or not _SPELLABLE.fullmatch(match[0]):
                found.append(Item(match.start(), match.end(), match[0], kind))
    if strange := unknown(text):
        found = _add_strange(text, strange, found)
    return tuple(found)


def _add_strange(text: str, strange: str, found: Sequence[Item]) -> list[Item]:
    """Words with a letter, and runs of other characters, that the vocabulary lacks."""
    letters = {character for character in strange if _WORD.match(character)}
    words = [match.span() for match in _WORD.finditer(text) if is_foreign(match[0], letters)] if letters else []
    foreign = Taken(text, words)
    # A number may be part of such a word; anything else that was found holds the word.
    items = [item for item in found if item.exact or foreign.leaves(item.span)]
    taken = Taken(text, (item.span for item in items))

    def add(kind: Kind, spans: Iterable[Span]) -> None:
        items.extend(Item(*span, text[slice(*span)], kind) for span in spans if taken.take(span))

    add("word", words)
    if signs := "".join(character for character in strange if character not in letters):
        one = f"[{re.escape(signs)}]"
        add("symbol", (match.span() for match in re.finditer(f"{one}+(?: {one}+)*", text)))
    return sorted(items, key=lambda item: item.start)


class Taken:
    """Which characters of a text are spoken for."""

    def __init__(self, text: str, spans: Iterable[Span] = ()) -> None:
        self._taken = bytearray(len(text))
        for start, end in spans:
            self._taken[start:end] = b"\1" * (end - start)

    def leaves(self, span: Span) -> bool:
        """Whether no character of a span is taken."""
        return 1 not in self._taken[span[0] : span[1]]

    def take(self, span: Span) -> bool:
        """Take a span if nobody has; whether it could be had."""
        free = self.leaves(span)
        if free:
            self._taken[span[0] : span[1]] = b"\1" * (span[1] - span[0])
        return free


def is_foreign(word: str, letters: set[str]) -> bool:
    """Whether a word with unknown letters is to be copied: one of another script, or a name (`Wałęsa`, not `naïf`)."""
    unknown = letters & set(word)
    return bool(unknown) and (word[:1].isupper() or not all(name(letter, "").startswith("LATIN") for letter in unknown))


def has_words(text: str, items: Sequence[Item]) -> bool:
    """Whether anything is left to translate beside the items, figures and signs."""
    rest = Rewriting.of(text, ((item.span, " ") for item in items)).after if items else text
    return any(map(str.isalpha, rest))


@dataclass(frozen=True)
class Restored:
    """A translation with its items as they were in the source."""

    rewriting: Rewriting
    repaired: bool
    """Whether one had been changed, and could be put right where it stands."""
    lost: tuple[Item, ...]
    """Not there, or there more often than in the source."""

    @property
    def text(self) -> str:
        return self.rewriting.after

    @property
    def spans(self) -> tuple[Span, ...]:
        """Where the items stand in the text."""
        return tuple(after for _, after in self.rewriting.edits)


def restore(translation: str, items: Sequence[Item]) -> Restored:
    """Find each item in a translation as often as it was in the source, and write it as it was there."""
    if not items:
        return Restored(Rewriting(translation, translation), False, ())
    taken = Taken(translation)
    written: list[tuple[Span, str]] = []
    lost: list[Item] = []
    missing: list[Item] = []
    repaired = False
    counts = Counter(item.shown or item.text for item in items)
    by_text = {item.shown or item.text: item for item in reversed(items)}
    for shown in sorted(counts, key=len, reverse=True):  # the longer first: one may be part of another
        item, count = by_text[shown], counts[shown]
        matches = (match.span() for match in exactly(normalise(shown)).finditer(translation))
        found = [span for span in matches if taken.leaves(span)]
        # What stands there more often was made up, or said twice; a number may well be named again.
        if len(found) > count and item.exact:
            lost.append(item)
        written += [(span, item.text) for span in found[:count] if taken.take(span)]
        missing += [item] * (count - len(found))
    for item in missing:
        if item.kind in ("word", "symbol"):
            lost.append(item)
            continue
        near = nearly(normalise(item.shown or item.text), "number" if item.shown else item.kind)
        place = next((match.span() for match in near.finditer(translation) if taken.take(match.span())), None)
        if place is None:
            lost.append(item)
            continue
        repaired |= item.exact
        written.append((place, item.text if item.exact else translation[slice(*place)]))
    return Restored(Rewriting.of(translation, sorted(written)), repaired, tuple(lost))


@lru_cache(maxsize=1024)
def exactly(text: str) -> re.Pattern[str]:
    """The very text, not inside a longer word or number."""
    before = r"(?<!\w)" if text[:1].isalnum() else ""
    before += r"(?<!\d[.,])" if text[:1].isdigit() else ""
    after = r"(?!\w)" if text[-1:].isalpha() else r"(?!\d)(?![.,]\d)" if text[-1:].isdigit() else ""
    return re.compile(before + re.escape(text) + after)


@lru_cache(maxsize=1024)
def nearly(text: str, kind: Kind) -> re.Pattern[str]:
    """The text as a model may have changed it: spaces inside, capitals, or a number's separators."""
    quantity = _QUANTITY.fullmatch(text) if kind in ("quantity", "number") else None
    if quantity:
        figure, unit = quantity[1], quantity[2].strip()
        groups = re.findall(r"\d+", figure)
        # Thousands may be set apart or not; the sign before a fraction may be another one, but not be missing.
        first = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", _THOUSANDS, groups[0])
        rest = [(_THOUSANDS if len(group) == 3 else r"[.,:/'’\s]") + group for group in groups[1:]]
        after = r"\s*" + re.escape(unit) + (r"(?!\w)" if unit[-1].isalpha() else "") if unit else ""
        return re.compile(rf"(?<!\d)(?<!\d[.,]){first}{''.join(rest)}{after}(?!\d)")
    return re.compile(r"\s*".join(map(re.escape, re.findall(r"\w+|[^\w\s]", text))), re.IGNORECASE)
