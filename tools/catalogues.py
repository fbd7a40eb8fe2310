"""Reads gettext catalogues (.mo) and makes clean sentence pairs of their messages.

Programs write messages in their own ways: with marks for keyboard shortcuts ("_Open", "&Open", "~Open"), contexts
before the text ("menu|Open"), tags, hard line breaks and placeholders. `Tidy` takes marks, contexts and most tags off
both sides, splits paragraphs and sentences where both sides have the same number, and drops what does not match.
"""

import html
import re
import struct
from collections import Counter
from collections.abc import Iterator
from zlib import crc32

from hark.config import CleanConfig
from hark.data.filters import Cleaner
from hark.documents.messages import find_placeholders, has_words, is_identifier
from hark.text.segments import split_sentences

Pair = tuple[str, str]

MAGIC = 0x950412DE
CHARSET = re.compile(rb"^content-type:.*charset=([\w.:-]+)", re.IGNORECASE | re.MULTILINE)

CREDITS = re.compile(
    r"translator[-_ ]credits?|(?:names?|emails?) of translators?|your (?:names?|emails?)\W*", re.IGNORECASE
)
KDE3_CONTEXT = re.compile(r"_: .*\n")
CONTEXT = re.compile(r"[^\s|<>][^|\n<>]{0,60}\|{1,2}(?!\s)")
MARKS = {
    "&": re.compile(r"&(?!\w+;|#\d+;)(?=\w)"),
    "_": re.compile(r"_(?=[^\W_])"),
    "~": re.compile(r"~(?=[^\W\d_]{2})"),  # a single letter is a placeholder of Lisp
    "^": re.compile(r"\^(?=[^\W\d_])"),
}
AROUND_WORDS = "\"'“”‘’«»().,:;!?"
LEFT_MARK = re.compile(r"(?<!\S)(?:&\w|_[^\W\d_])")
GLUED_MARK = re.compile(r"\w&\w")
TAG = re.compile(r"</?([a-zA-Z][\w:-]*)(?:\s[^<>]*)?/?>")
BLOCKS = {
    "br", "nl", "p", "para", "li", "ul", "ol", "list", "item", "html", "qt", "body", "head",
    "div", "tr", "td", "th", "table", "title", "hr", "center", "h1", "h2", "h3", "h4",
}  # fmt: skip
KEPT_TAGS = 15
"""Percentage of messages that keep their tags, so that a model sees some."""
LAYOUT = re.compile(r"\S {2,}\S|^[ \t]+\S|^[-*•·#>] ?|\t|\\[nt]", re.MULTILINE)
"""Tables, lists, usage texts: their lines are not sentences."""
SENTENCE_END = re.compile(r"[.!?:;]\W*$")
INNER_END = re.compile(r"[.!?]\W?\s")
COPIED = re.compile(r"%\w+|~[a-z%](?!\w)|\$\(?\w+|@\w+|(?<!\S)--?\w[\w-]*|\w+://\S+|\\\w")
"""What a translation must repeat, besides the placeholders of programming languages."""
NOT_TEXT = re.compile(r"[A-Z][A-Z\d._]+\(|(?:[^;]+;){2,}$")
"""Formulas of spreadsheets, and lists of search words ("folder;manager;disk;"), which do not translate each other."""
NUMBER = re.compile(r"\d+")
OTHER_SCRIPT = re.compile(
    r"[\u0370-\u1dff\u2c00-\u2c5f\u2de0-\u2dff\u2e80-\ua71f\ua800-\uab2f\uabc0-\ufaff\ufb13-\ufefe]"
)


def read_catalogue(data: bytes) -> Iterator[Pair]:
    """Yield the messages of a .mo file, English and translation, without contexts; a plural is a message too.

    Raises ValueError if the file is not a catalogue.
    """
    try:
        order = "<" if struct.unpack_from("<I", data)[0] == MAGIC else ">"
        magic, _, count, sources, targets = struct.unpack_from(f"{order}5I", data)
        if magic != MAGIC or count > len(data):
            raise ValueError("not a gettext catalogue")
        entries = [
            tuple(read_string(data, order, table + 8 * number) for table in (sources, targets))
            for number in range(count)
        ]
    except struct.error:
        raise ValueError("a catalogue that ends too early") from None
    header = next((target for source, target in entries if not source), b"")
    charset = CHARSET.search(header)
    encoding = charset[1].decode() if charset else "utf-8"
    for source, target in entries:
        if not source:
            continue
        try:
            key, value = source.decode(encoding), target.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
        english, translations = key.rpartition("\x04")[2].split("\0"), value.split("\0")
        # The first form is not always for one thing only; if its placeholders differ, the pair is dropped later.
        yield english[0], translations[0]
        if len(english) > 1:
            yield english[1], translations[-1]


def read_string(data: bytes, order: str, at: int) -> bytes:
    length, offset = struct.unpack_from(f"{order}2I", data, at)
    if offset + length > len(data):
        raise ValueError("a catalogue that ends too early")
    return data[offset : offset + length]


class Tidy:
    """Makes clean pairs of sentences of a message and its translation."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.clean = Cleaner(CleanConfig(max_words=120, min_letters=0.4), "en", language)

    def __call__(self, english: str, other: str) -> list[Pair]:
        if not other.strip() or CREDITS.fullmatch(english.strip()):
            return []
        pair = drop_tags(*drop_accelerators(*drop_context(english.replace("\r", ""), other.replace("\r", ""))))
        return [good for part in split_lines(*pair) for good in self.split(*part)] if pair else []

    def split(self, english: str, other: str) -> list[Pair]:
        """The sentences of a paragraph if both sides have as many and all pass; otherwise the whole, if that passes."""
        if INNER_END.search(english) and INNER_END.search(other):
            sides = split_sentences(english, "en"), split_sentences(other, self.language)
            if 1 < len(sides[0]) == len(sides[1]):
                parts = [self.check(*part) for part in zip(*sides, strict=True)]
                if all(parts):
                    return [part for part in parts if part]
        whole = self.check(english, other)
        return [whole] if whole else []

    def check(self, english: str, other: str) -> Pair | None:
        """The normalised pair, or None if it is not worth reading."""
        verdict = self.clean(english, other)
        pair = verdict.source, verdict.target
        if verdict.rule or not fits_together(*pair) or is_identifier(verdict.source) or NOT_TEXT.match(verdict.source):
            return None
        return follow_stop(*pair)


def drop_context(english: str, other: str) -> Pair:
    """Remove contexts that old programs write before the text: "menu|Open", "_: a menu\\nOpen"."""
    english, other = (
        KDE3_CONTEXT.sub("", text, count=1) if text.startswith("_: ") else text for text in (english, other)
    )
    if found := CONTEXT.match(english):
        if other.startswith(found[0]):
            return english[found.end() :], other[found.end() :]
        if "|" not in other:
            return english[found.end() :], other
    return english, other


def drop_accelerators(english: str, other: str) -> Pair:
    """Remove the marks of keyboard shortcuts, but not those in names: snake_case, AT&T."""
    if "://" in english:
        return english, other
    for mark, pattern in MARKS.items():
        found = pattern.findall(english), pattern.findall(other)
        if len(found[0]) == 1 and len(found[1]) <= 1 and not has_name(english, other, mark):
            english, other = pattern.sub("", english), pattern.sub("", other)
    return english.replace(" && ", " & "), other.replace(" && ", " & ")  # where a single one is a mark


def has_name(english: str, other: str, mark: str) -> bool:
    """Whether the word with the mark looks like a name and is the same on both sides: time_t, AT&T, but not Zoo_m."""
    words = [[word.strip(AROUND_WORDS) for word in text.split() if mark in word] for text in (english, other)]
    before, _, after = words[0][0].partition(mark)
    if mark == "&":
        like_name = before[-1:].isupper() and after[:1].isupper()
    elif words[0][0].islower():
        like_name = bool(before and after)
    else:
        like_name = len(before) > 1 and len(after) > 1
    return like_name and words[0][0] in words[1]


def drop_tags(english: str, other: str) -> Pair | None:
    """Turn tags of blocks into paragraphs and remove pairs of other tags; None if the two sides have different tags."""
    sides: tuple[str, ...] = english, other
    if "<" in english or "<" in other:
        tags = [[(match[0].lower(), match[1].lower()) for match in TAG.finditer(text)] for text in sides]
        blocks = [[name for _, name in some if name in BLOCKS] for some in tags]
        if blocks[0] != blocks[1] or Counter(tags[0]) != Counter(tags[1]):
            return None
        sides = tuple(TAG.sub(lambda tag: "\n\n" if tag[1].lower() in BLOCKS else tag[0], text) for text in sides)
        opened = Counter(name for raw, name in tags[0] if raw[1] != "/" and raw[-2] != "/")
        closed = Counter(name for raw, name in tags[0] if raw[1] == "/")
        paired = {name for name in opened if opened[name] == closed[name]} - BLOCKS
        around = all(text.startswith("<") and text.endswith(">") for text in map(str.strip, sides))
        if around or crc32(english.encode()) % 100 >= KEPT_TAGS:
            sides = tuple(TAG.sub(lambda tag: "" if tag[1].lower() in paired else tag[0], text) for text in sides)
    if "&" in sides[0] or "&" in sides[1]:
        sides = tuple(map(html.unescape, sides))
    return sides[0], sides[1]


def split_lines(english: str, other: str) -> Iterator[Pair]:
    """Yield paragraphs, and lines that end like sentences; nothing if the two sides differ in number."""
    if "\n" not in english and "\n" not in other and "\t" not in english:
        yield english, other
        return
    sides = [[part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()] for text in (english, other)]
    if len(sides[0]) != len(sides[1]):
        return
    for pair in zip(*sides, strict=True):
        if any(LAYOUT.search(text) for text in pair):
            continue
        lines = [text.split("\n") for text in pair]
        ends = [all(SENTENCE_END.search(line) for line in some) for some in lines]
        if len(lines[0]) == len(lines[1]) and all(ends):
            yield from zip(*lines, strict=True)
        else:  # broken to fit a window
            yield " ".join(lines[0]), " ".join(lines[1])


def fits_together(english: str, other: str) -> bool:
    """Whether both sides have the same placeholders, tags and options, share a number and are all text."""
    for find in (find_placeholders, COPIED.findall, TAG.findall):
        if sorted(find(english)) != sorted(find(other)):
            return False
    if "&" not in english and GLUED_MARK.search(other):
        return False
    if english.count("_") != other.count("_") or LEFT_MARK.search(english) or LEFT_MARK.search(other):
        return False
    numbers = set(NUMBER.findall(english)), set(NUMBER.findall(other))
    if all(numbers) and not numbers[0] & numbers[1]:
        return False
    if OTHER_SCRIPT.search(english) or OTHER_SCRIPT.search(other) or sum(map(str.isalpha, english)) < 2:
        return False
    return has_words(english) and has_words(other)


def follow_stop(english: str, other: str) -> Pair:
    """Let a translation end with a full stop where the English does: some translators add or omit them throughout."""
    words = other.split()
    if len(words) < 3 or ". " in other:
        return english, other
    if english.endswith(".") and not english.endswith("..") and other[-1].isalpha():
        return english, f"{other}."
    if english[-1].isalpha() and other.endswith(".") and len(words[-1]) > 4 and words[-1][:-1].isalpha():
        return english, other[:-1]
    return english, other
