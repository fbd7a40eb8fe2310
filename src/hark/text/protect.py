"""Protection of text that a translation must copy unchanged: find it in the source, restore it in the translation.

This module does not use a model: `find` returns the protected items of a sentence, and `restore` looks for them in a
translation. `attempts.py` decides what to do if one is lost.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, lru_cache
from unicodedata import name

from hark.text import clock
from hark.text.figures import Figure, find_figures, localise, write_figure
from hark.text.numerals import numerals_of
from hark.text.rewrite import Rewriting, Span
from hark.text.rules import ON, Rule, Rules
from hark.text.shapes import HINT, ITEMS, OPAQUE, SPELLABLE, UNIT_WORDS, ItemKind
from hark.text.terms import Terms
from hark.text.vocabulary import normalise

_THOUSANDS = "[.,'’ ]?"
_LETTER = r"[\w\u0300-\u036f]"
_WORD = re.compile(rf"{_LETTER}+(?:['’.-]{_LETTER}+)*")
_QUANTITY = re.compile(r"(\d+(?:[.,:/'’ ]\d+)*)(.*)")
# **bold**, *italics*, _italics_, ~~struck~~, as in Markdown: the signs around the words are protected like tags.
_EMPHASIS = re.compile(r"(?<![\w*~])(?P<mark>\*{1,3}|_{1,3}|~~)(?=[^\s*_~])[^*~\n]*?(?<=[^\s*_~])(?P=mark)(?![\w*~])")
_TOKEN = re.compile(r"\S+")
_SPACES = " \u00a0\u202f"
_PLACEHOLDER = re.compile(r"\$\d")
"""The parameters of a query or a script look so. So "$5" stays as it is written, and every reader understands it."""
_COUNTED, _COUNTED_DE = re.compile(r"\s[^\W\d_]"), re.compile(r"\s(?:[a-zäöüß]+e[nrs]?\s)?[A-ZÄÖÜ]")
"""What follows a number that counts something; in German, a noun."""
_AROUND = "\"'“”„‘’‚«»()[]{},;:.!?…"
"""Punctuation around a token that is not part of it."""
_LOCAL: dict[ItemKind, Rule] = {"quantity": "quantities", "price": "prices"}
_WRITTEN: dict[str, Rule] = {
    "grouped": "thousands",
    "percent": "quantities",
    "currency": "prices",
    "ordinal": "quantities",
}


@dataclass(frozen=True)
class Item:
    """A span of a sentence that must be copied unchanged."""

    start: int
    end: int
    text: str
    kind: ItemKind
    shown: str = ""
    """The text shown to the model in its place, if not the item itself."""
    written: str = ""
    """The text written in the translation, if not the item itself: `7,4 %` for `7.4%`."""
    pattern: re.Pattern[str] | None = None
    """Matches the translation of the shown text, if it may differ."""
    leading: str = ""
    """The text written at the start of the translation, if it differs: a term gets a capital there."""

    @property
    def exact(self) -> bool:
        """Whether it must be copied character by character."""
        return self.kind != "number"

    @property
    def opaque(self) -> bool:
        """Whether it is hidden from the model."""
        return self.kind in OPAQUE

    @property
    def mark(self) -> bool:
        """Whether it carries no words for the model: tags, emphasis, emoji."""
        return self.kind in ("markup", "symbol")

    @property
    def span(self) -> Span:
        return self.start, self.end


def find(
    text: str,
    unknown: Callable[[str], str],
    source: str = "",
    target: str = "",
    terms: Terms | None = None,
    rules: Rules = ON,
) -> tuple[Item, ...]:
    """Return the items of a sentence, in order and without overlap.

    `unknown` returns the characters of a text that the model cannot be expected to copy: emoji, other scripts, rare
    symbols. `source` and `target` are languages: times, prices and quantities follow the target language. `terms` are
    those of a glossary.
    """
    found: list[Item] = list(_times(text, source, target, rules)) if source and target else []
    if HINT.search(text):
        taken = Spans(text, (item.span for item in found))
        in_context: dict[int, Figure] | None = None
        for match in ITEMS.finditer(text):
            kind, span = _kind_and_span(match)
            raw = text[slice(*span)]
            if not taken.is_free(span) or (kind == "number" and SPELLABLE.fullmatch(raw)):
                continue
            written = ""
            if source and target and kind in _LOCAL and _LOCAL[kind] in rules:
                placeholder = _PLACEHOLDER.fullmatch(raw) and not _unit_words().match(text, span[1])  # $1 million
                written = "" if placeholder else localise(raw, source, target)
                written = "" if written == raw else written
            elif source and target and kind == "number" and not raw.isdigit():
                if in_context is None:
                    in_context = {figure.digits[0]: figure for figure in find_figures(text, source)}
                figure = in_context.get(span[0])
                # A model may change a separator even where both languages have the same: 1.500 must not become 1,500.
                if figure and figure.text == raw:
                    written = _write_number(figure, text, source, target, rules)
                    kind = "identifier" if figure.kind == "version" else kind  # 3.10 is not 3,10
            found.append(Item(*span, raw, kind, written=written))
        found.sort(key=lambda item: item.start)
    found += _marks(text, found)
    if strange := unknown(text):
        found = _add_strange(text, strange, found)
    if terms:
        found = _add_terms(text, terms, found)
    return tuple(sorted(found, key=lambda item: item.start))


def _write_number(figure: Figure, text: str, source: str, target: str, rules: Rules) -> str:
    """What to write for a number without a sign or an abbreviated unit; nothing if the model must say, as for 3.5."""
    typed = isinstance(figure.value, Decimal) and numerals_of(source).decimal in figure.raw
    if typed and _unit_words().match(text, figure.span[1]) and "quantities" in rules:  # 11.9 metres
        return write_figure(replace(figure, kind="decimal"), source, target)
    if figure.kind == "grouped" and not _is_grouped(figure, text, source):
        return ""
    return write_figure(figure, source, target) if _WRITTEN.get(figure.kind) in rules else ""


@cache
def _unit_words() -> re.Pattern[str]:
    """Compiled when a text first needs it, which takes 2 ms."""
    return re.compile(UNIT_WORDS)


def _is_grouped(figure: Figure, text: str, source: str) -> bool:
    """Whether the groups of a figure are surely thousands: 1.250 Menschen, not Perl 5.005, an address or 10 028 692."""
    sign = numerals_of(source).thousands
    if set(figure.raw) & set(_SPACES):
        return sign.isspace()
    if sign != "." or figure.raw.count(".") == 2 or figure.raw.count(".") > 3:
        return True
    counted = _COUNTED_DE if source[:2] == "de" else _COUNTED
    return counted.match(text, figure.span[1]) is not None


def find_terms(text: str, terms: Terms | None) -> tuple[Item, ...]:
    """Return only the terms of a glossary."""
    return tuple(_add_terms(text, terms, ())) if terms else ()


def _add_terms(text: str, terms: Terms, found: Sequence[Item]) -> list[Item]:
    """Add the terms of a glossary. A term replaces the items inside it, but an address or a tag is not cut in two."""
    items = list(found)
    capital = next((character.isupper() for character in text if character.isalpha()), False)
    for (start, end), target in terms.find(text):
        near = [item for item in items if item.start < end and start < item.end]
        if any(item.start < start or end < item.end for item in near):
            continue
        name = target == text[start:end] and not target.islower()  # iPhone
        leading = target[:1].upper() + target[1:] if capital and not name else target
        items = [item for item in items if item not in near]
        items.append(Item(start, end, text[start:end], "term", written=target, leading=leading))
    return items


def figures(text: str, source: str, target: str, rules: Rules = ON) -> tuple[Item, ...]:
    """Return every number in digits, including those that may be spelled out."""
    found = ((figure, _write_number(figure, text, source, target, rules)) for figure in find_figures(text, source))
    return tuple(Item(*figure.span, figure.text, "number", written=new or figure.text) for figure, new in found)


def _kind_and_span(match: re.Match[str]) -> tuple[ItemKind, Span]:
    if match["quoted"] is not None:
        return "literal", match.span("quoted")
    kind: ItemKind = match.lastgroup.rsplit("_", 1)[0]  # type: ignore[assignment,union-attr]
    return kind, match.span()


def _times(text: str, source: str, target: str, rules: Rules) -> Iterator[Item]:
    """Yield the clock times, each with a stand-in that the model sees."""
    times = [time for time in clock.find_times(text, source) if _is_ours(time, rules)]
    if not times:
        return
    for time, stand_in in zip(times, clock.stand_ins(times, text, target), strict=True):
        pattern = clock.pattern(stand_in, target, with_half=not time.in_part)
        yield Item(*time.span, time.text, "time", stand_in.shown, clock.write_time(time, target), pattern)


def _is_ours(time: clock.ClockTime, rules: Rules) -> bool:
    """Whether a time is written by rule. Models know "8 Uhr abends": they write p.m., which "8:00" would lack."""
    if time.style == "phrase" or time.spelled:
        return "spoken times" in rules
    return "digital times" in rules and not time.in_part


def _marks(text: str, found: Sequence[Item]) -> Iterator[Item]:
    """Yield the Markdown emphasis marks."""
    if "*" not in text and "_" not in text and "~~" not in text:
        return
    taken = Spans(text, (item.span for item in found))
    for match in _EMPHASIS.finditer(text):
        width = len(match["mark"])
        first, last = (match.start(), match.start() + width), (match.end() - width, match.end())
        if taken.take(first) and taken.take(last):
            yield Item(*first, match["mark"], "markup")
            yield Item(*last, match["mark"], "markup")


def _add_strange(text: str, strange: str, found: Sequence[Item]) -> list[Item]:
    """Add words with unknown letters, and runs of other unknown characters."""
    letters = {character for character in strange if _WORD.match(character) and character != "_"}
    words = [match.span() for match in _WORD.finditer(text) if is_foreign(match[0], letters)] if letters else []
    signs = "".join(character for character in strange if character not in letters)
    tokens = list(_tokens_with(signs, text)) if signs else []
    # A number may be part of such a word or token; any other item takes precedence.
    foreign = Spans(text, [*words, *tokens])
    items = [item for item in found if item.exact or foreign.is_free(item.span)]
    taken = Spans(text, (item.span for item in items))

    def add(kind: ItemKind, spans: Iterable[Span]) -> None:
        items.extend(Item(*span, text[slice(*span)], kind) for span in spans if taken.take(span))

    add("code", tokens)
    add("word", words)
    if signs:
        one = f"[{re.escape(signs)}]"
        add("symbol", (match.span() for match in re.finditer(f"{one}+(?: {one}+)*", text)))
    return items


def _tokens_with(signs: str, text: str) -> Iterator[Span]:
    """Yield tokens with one of these ASCII symbols next to letters or digits: C#, my_value, key=value."""
    inside = {sign for sign in signs if sign.isascii()}
    for match in _TOKEN.finditer(text) if inside else ():
        start, end = match.span()
        while start < end and text[start] in _AROUND and text[start] not in inside:
            start += 1
        while end > start and text[end - 1] in _AROUND and text[end - 1] not in inside:
            end -= 1
        token = text[start:end]
        if inside & set(token) and any(map(str.isalnum, token)):
            yield start, end


class Spans:
    """Tracks which characters of a text are already taken."""

    def __init__(self, text: str, spans: Iterable[Span] = ()) -> None:
        self._taken = bytearray(len(text))
        for start, end in spans:
            self._taken[start:end] = b"\1" * (end - start)

    def is_free(self, span: Span) -> bool:
        """Whether no character of a span is taken."""
        return 1 not in self._taken[span[0] : span[1]]

    def take(self, span: Span) -> bool:
        """Take a span if it is free; return whether it was."""
        free = self.is_free(span)
        if free:
            self._taken[span[0] : span[1]] = b"\1" * (span[1] - span[0])
        return free


def is_foreign(word: str, letters: set[str]) -> bool:
    """Whether to copy a word with unknown letters: one in another script, or a name (`Wałęsa`, not `naïf`)."""
    unknown = letters & set(word)
    return bool(unknown) and (word[:1].isupper() or not all(name(letter, "").startswith("LATIN") for letter in unknown))


def has_words(text: str, items: Sequence[Item]) -> bool:
    """Whether anything other than items, digits and punctuation is left to translate."""
    rest = Rewriting.of(text, ((item.span, " ") for item in items)).after if items else text
    return any(map(str.isalpha, rest))


@dataclass(frozen=True)
class Restored:
    """A translation with its protected items restored."""

    rewriting: Rewriting
    repaired: bool
    """Whether an item had been changed and was repaired in place."""
    lost: tuple[Item, ...]
    """Items that are missing, or occur more often than in the source."""

    @property
    def text(self) -> str:
        return self.rewriting.after

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans of the items in the text."""
        return tuple(after for _, after in self.rewriting.edits)


def restore(translation: str, items: Sequence[Item]) -> Restored:
    """Find each item in a translation as often as in the source, and write it as it should be."""
    if not items:
        return Restored(Rewriting(translation, translation), False, ())
    taken = Spans(translation)
    written: list[tuple[Span, str]] = []
    lost: list[Item] = []
    missing: list[Item] = []
    repaired = False
    counts = Counter(item.shown or item.text for item in items)
    by_text = {item.shown or item.text: item for item in reversed(items)}
    for shown in sorted(counts, key=len, reverse=True):  # longest first: one may be part of another
        item, count = by_text[shown], counts[shown]
        pattern = item.pattern or exact_pattern(normalise(shown))
        spans = (match.span() for match in pattern.finditer(translation))
        matches = [span for span in spans if taken.is_free(span)]
        # Extra occurrences are invented or repeated; only a number may legitimately occur again.
        if len(matches) > count and item.exact:
            lost.append(item)
        written += [(span, _written(item, span)) for span in matches[:count] if taken.take(span)]
        missing += [item] * (count - len(matches))
    for item in missing:
        if item.kind in ("word", "symbol") or item.pattern is not None:
            lost.append(item)
            continue
        near = near_pattern(normalise(item.shown or item.text), "number" if item.shown else item.kind)
        place = next((match.span() for match in near.finditer(translation) if taken.take(match.span())), None)
        if place is None:
            lost.append(item)
            continue
        repaired |= item.exact and not item.written
        written.append((place, _written(item, place) if item.exact else item.written or translation[slice(*place)]))
    return Restored(Rewriting.of(translation, sorted(written)), repaired, tuple(lost))


def _written(item: Item, span: Span) -> str:
    """The text of an item at its place in the translation."""
    return (span[0] == 0 and item.leading) or item.written or item.text


@lru_cache(maxsize=1024)
def exact_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern for exactly this text, not inside a longer word or number."""
    before = r"(?<!\w)" if text[:1].isalnum() else ""
    before += r"(?<!\d[.,])" if text[:1].isdigit() else ""
    after = r"(?!\w)" if text[-1:].isalpha() else r"(?!\d)(?![.,]\d)" if text[-1:].isdigit() else ""
    return re.compile(before + re.escape(text) + after)


@lru_cache(maxsize=1024)
def near_pattern(text: str, kind: ItemKind) -> re.Pattern[str]:
    """Return a pattern for the text as a model may have changed it: inner spaces, case, or number separators."""
    quantity = _QUANTITY.fullmatch(text) if kind in ("quantity", "number") else None
    if quantity:
        figure, unit = quantity[1], quantity[2].strip()
        groups = re.findall(r"\d+", figure)
        # Thousands separators may be missing; the decimal separator may differ but not be missing.
        first = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", _THOUSANDS, groups[0])
        rest = [(_THOUSANDS if len(group) == 3 else r"[.,:/'’\s]") + group for group in groups[1:]]
        after = r"\s*" + re.escape(unit) + (r"(?!\w)" if unit[-1].isalpha() else "") if unit else ""
        return re.compile(rf"(?<!\d)(?<!\d[.,]){first}{''.join(rest)}{after}(?!\d)")
    return re.compile(r"\s*".join(map(re.escape, re.findall(r"\w+|[^\w\s]", text))), re.IGNORECASE)
