"""PO and POT files of GNU gettext: fills in translations that are missing or fuzzy; the rest stays byte for byte."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hark.documents.encoding import DecodedText, declared_encoding, decode
from hark.documents.formats import Document, DocumentError, ReadingOptions, Segment, SegmentTranslation
from hark.documents.messages import (
    Message,
    find_placeholders,
    keeps_placeholders,
    numbers_by_form,
    plural_rule,
    read_message,
)
from hark.text.rewrite import Rewriting, Span

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_FIELD = re.compile(r"[ \t]*(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d{1,2})\])?)[ \t]*(?=\")")
_QUOTED = re.compile(r"[ \t]*\"((?:[^\"\\\r\n]|\\.)*)\"[ \t]*(?:\r\n|\r|\n|\Z)")
_ESCAPE = re.compile(r"\\(?:x([\da-fA-F]{1,2})|([0-7]{1,3})|(.))")
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPED = {ord(value): f"\\{name}" for name, value in (*_PLAIN.items(), ('"', '"'), ("\\", "\\"))}


@dataclass
class PoField:
    """A field of an entry, such as msgid."""

    name: str
    span: Span
    """Its lines."""
    lines: list[str]
    """Its strings, as written."""

    @property
    def value(self) -> str:
        return unescape("".join(self.lines))


@dataclass
class PoEntry:
    """A message with its translations."""

    fields: dict[str, PoField] = field(default_factory=dict)
    flags: list[Span] = field(default_factory=list)
    """Lines with flags."""
    previous: list[Span] = field(default_factory=list)
    """Lines with the message to which a fuzzy translation belongs."""
    fuzzy: bool = False

    @property
    def translations(self) -> list[PoField]:
        return [each for name, each in self.fields.items() if name.startswith("msgstr")]


def unescape(text: str) -> str:
    return _ESCAPE.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    if code := found[1] or found[2]:
        return chr(int(code, 16 if found[1] else 8))
    return _PLAIN.get(found[3], found[3])


def escape(text: str) -> str:
    return text.translate(_ESCAPED)


def read_entries(text: str) -> Iterator[PoEntry]:
    """Yield the entries of a file, except obsolete ones."""
    entry, current, at = PoEntry(), None, 0
    for number, found in enumerate(_LINE.finditer(text), 1):
        line, span = found[0], found.span()
        start = _FIELD.match(line)
        quoted = _QUOTED.fullmatch(line, start.end() if start else 0)
        if quoted and (start or current):
            if start:
                if start[1] in entry.fields or (start[1] in ("msgctxt", "msgid") and "msgid" in entry.fields):
                    yield entry
                    entry = PoEntry()
                current = entry.fields[start[1]] = PoField(start[1], span, [])
            assert current is not None
            current.lines.append(quoted[1])
            current.span = (current.span[0], span[1])
        elif not line.strip() or line.lstrip().startswith("#"):
            if entry.translations or line.startswith("#~"):
                if "msgid" in entry.fields:
                    yield entry
                entry = PoEntry()
            current = None
            if line.startswith("#,"):
                entry.flags.append(span)
                entry.fuzzy |= "fuzzy" in [flag.strip() for flag in line[2:].split(",")]
            elif line.startswith("#|"):
                entry.previous.append(span)
        else:
            raise DocumentError(f"line {number} is not PO: {line.strip()[:60]}")
        at = span[1]
    assert at == len(text)
    if "msgid" in entry.fields:
        yield entry


MAX_COLUMNS = 79
"""Columns at which gettext wraps."""
_CHARSET = re.compile(rb"charset=([\w.:-]+)")
_PLURALS = re.compile(r"nplurals\s*=\s*(\d{1,2})\s*;\s*plural\s*=\s*([^;\n]+)")
_NUMBER = re.compile(r"%(?:\(\w+\))?(?:l|ll|z)?[diu](?!\w)|\{(?:n|num|number|count|total|\d)\}")


@dataclass(frozen=True)
class _Task:
    """An entry to translate: its messages, then the texts with a number; and which of them each form takes."""

    entry: PoEntry
    messages: tuple[Message, ...]
    samples: tuple[str, ...] = ()
    forms: tuple[tuple[int, ...], ...] = ()
    """For each plural form, the places of its texts among messages and samples, the best first."""
    holder: str = ""
    """The placeholder that a number stands for."""

    @property
    def segments(self) -> list[Segment]:
        return [*(Segment(each.text, each.tagged, True) for each in self.messages), *map(Segment, self.samples)]


def read(content: bytes, options: ReadingOptions) -> Document:
    found = _CHARSET.search(content[: 1 << 16])
    return PoDocument(decode(content, declared_encoding(found[1].decode()) if found else ""), options)


class PoDocument:
    """A PO file. An entry whose translation equals its message stays empty, which means the same."""

    def __init__(self, file: DecodedText, options: ReadingOptions) -> None:
        self._file, self._target = file, options.target
        entries = list(read_entries(file.text))
        self._header = next((each for each in entries if not each.fields["msgid"].value), None)
        header = self._header.fields["msgstr"].value if self._header and "msgstr" in self._header.fields else ""
        stated = _PLURALS.search(header)
        self._rule = stated[0] + ";" if stated else plural_rule(options.target)
        self._tasks = [task for entry in entries if (task := self._task(entry)) is not None]

    @property
    def segments(self) -> Sequence[Segment]:
        return [segment for task in self._tasks for segment in task.segments]

    def write(self, translations: Sequence[SegmentTranslation]) -> bytes:
        edits: list[tuple[Span, str]] = []
        rest = iter(translations)
        for task in self._tasks:
            done = [next(rest) for _ in task.segments]
            if [each.text for each in done] != [each.text for each in task.segments]:
                edits += self._fill(task, done)
        if not edits:
            return self._file.encode(self._file.text)
        text = Rewriting.of(self._file.text, sorted([*edits, *self._header_edits()])).after
        try:
            return self._file.bom + text.encode(self._file.encoding)
        except UnicodeEncodeError:
            return re.sub(r"(?<=charset=)[\w.:-]+", "UTF-8", text, count=1).encode()

    def _task(self, entry: PoEntry) -> _Task | None:
        """What to translate in an entry; None if it has a translation, or nothing to translate."""
        source = entry.fields["msgid"].value
        done = all(each.value for each in entry.translations) and not entry.fuzzy
        if not source or not entry.translations or done:
            return None
        message = read_message(source)
        if "msgid_plural" not in entry.fields:
            return _Task(entry, (message,)) if message.translatable else None
        plural = read_message(entry.fields["msgid_plural"].value)
        if not (message.translatable and plural.translatable):
            return None
        stated = _PLURALS.search(self._rule)
        if stated is None:  # a template: as many forms as it has
            forms = [[1], *([*range(2, 300)] for _ in entry.translations[1:])]
        else:
            forms = numbers_by_form(max(1, int(stated[1])), stated[2])
        return _with_plurals(entry, message, plural, forms)

    def _fill(self, task: _Task, done: Sequence[SegmentTranslation]) -> Iterator[tuple[Span, str]]:
        """Yield the replacements of lines that put in a translation; a broken one is marked as fuzzy."""
        filled = [message.fill(each.text, each.links) for message, each in zip(task.messages, done, strict=False)]
        broken = None in filled
        texts = [
            text if text is not None else message.lead + each.text + message.tail
            for text, message, each in zip(filled, task.messages, done, strict=False)
        ]
        for sample, each in zip(task.samples, done[len(task.messages) :], strict=True):
            texts.append(_restore_number(sample, each.text, task))
        entry = task.entry
        fields = entry.translations
        msgid = entry.fields["msgid"]
        if task.forms:
            chosen = [next((texts[place] for place in form if texts[place]), "") for form in task.forms]
            lines = [self._lines(f"msgstr[{number}]", text, msgid) for number, text in enumerate(chosen)]
        else:
            lines = [self._lines("msgstr", texts[0], msgid)]
        yield fields[0].span, "".join(lines)
        yield from ((each.span, "") for each in fields[1:])
        if entry.fuzzy and not broken:
            yield from self._without_fuzzy(entry)
        elif broken and not entry.fuzzy:
            start = min(each.span[0] for each in entry.fields.values())
            yield (start, start), f"#, fuzzy{self._file.newline}"

    def _without_fuzzy(self, entry: PoEntry) -> Iterator[tuple[Span, str]]:
        for span in entry.flags:
            line = self._file.text[slice(*span)]
            flags = [flag.strip() for flag in line.strip()[2:].split(",")]
            if "fuzzy" in flags:
                others = ", ".join(flag for flag in flags if flag != "fuzzy")
                yield span, f"#, {others}{self._file.newline}" if others else ""
        yield from ((span, "") for span in entry.previous)

    def _lines(self, name: str, text: str, like: PoField) -> str:
        """Write a field, wrapped as gettext wraps, or on one line if the message is a long line."""
        whole = f'{name} "{escape(text)}"'
        long = len(like.lines) == 1 and len(like.lines[0]) + len('msgid ""') > MAX_COLUMNS + 1
        if long or ("\n" not in text[:-1] and len(whole) <= MAX_COLUMNS + 1):
            return whole + self._file.newline
        lines = [f'{name} ""']
        for part in text.splitlines(keepends=True):
            line = ""
            for word in re.findall(r"\S*\s*", part):
                if line and len(escape(line + word).rstrip()) > MAX_COLUMNS - 2:
                    lines.append(f'"{escape(line)}"')
                    line = ""
                line += word
            if line:
                lines.append(f'"{escape(line)}"')
        return "".join(line + self._file.newline for line in lines)

    def _header_edits(self) -> Iterator[tuple[Span, str]]:
        """Fill in what a template leaves open: encoding, language and plural forms."""
        if self._header is None or "msgstr" not in self._header.fields:
            return
        span = self._header.fields["msgstr"].span
        lines = old = self._file.text[slice(*span)]
        lines = lines.replace("charset=CHARSET", "charset=UTF-8")
        if self._target:
            lines = re.sub(r'(?<="Language:) ?(?=\\n")', f" {self._target}", lines)
        if rule := plural_rule(self._target):
            lines = re.sub(r"nplurals=INTEGER; *plural=EXPRESSION;?", rule, lines)
        if lines != old:
            yield span, lines
            yield from self._without_fuzzy(self._header)  # a template's header is fuzzy until it is filled in


def _with_plurals(entry: PoEntry, message: Message, plural: Message, forms: list[list[int]]) -> _Task:
    """Decide from which text each plural form is translated.

    With more than two forms, the message is translated with a number for which the form is used ("25 files"), because
    the placeholder does not tell which form is wanted.
    """
    numbers = _NUMBER.findall(plural.text)
    samples: list[str] = []
    chosen: list[tuple[int, ...]] = []
    for members in forms:
        same = find_placeholders(message.text) == find_placeholders(plural.text)
        if 1 in members and len(forms) > 1 and (same or members == [1] or len(forms) == 2):
            chosen.append((0,))
        elif len(forms) > 2 and len(numbers) == 1 and members and not plural.tagged:
            number = next((each for each in members if each > 12), members[-1])
            samples.append(plural.text.replace(numbers[0], str(number)))
            chosen.append((1 + len(samples), 1))
        else:
            chosen.append((1,))
    return _Task(entry, (message, plural), tuple(samples), tuple(chosen), numbers[0] if len(numbers) == 1 else "")


def _restore_number(sample: str, translation: str, task: _Task) -> str:
    """Put the placeholder back for the number; empty if the number is not there exactly once."""
    plural = task.messages[1]
    number = next(each for each in re.findall(r"\d+", sample) if plural.text.replace(task.holder, each) == sample)
    found = re.findall(rf"(?<!\d){number}(?!\d)", translation)
    text = re.sub(rf"(?<!\d){number}(?!\d)", lambda _: task.holder, translation)
    return plural.lead + text + plural.tail if len(found) == 1 and keeps_placeholders(plural.text, text) else ""
