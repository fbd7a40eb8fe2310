"""Messages of programs, and the plural forms of languages, as GNU gettext states them.

Placeholders must come through a translation; ICU plurals and tags stay as they are.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from gettext import c2py

from hark.documents.markup_tokens import Token, pair_up, tokenise
from hark.documents.placing import InlineTree, place
from hark.text.rewrite import Span
from hark.text.shapes import SHAPES
from hark.translate.align import Link

_GLUED = r"%(?:\d+\$|\(\w+\))?[-+0\#]{0,3}\d*(?:\.\d+)?l{0,2}[sd@]"
PLACEHOLDER = re.compile("|".join([*(pattern for kind, pattern in SHAPES if kind == "placeholder"), _GLUED]))
"""Placeholders of printf, Python, Java, .NET, JavaScript and template languages: as the translator protects them, and
those of printf with a letter after them, which only messages have ("%dpx")."""
_CHOICE = re.compile(r"\{\s*\w+\s*,\s*(?:plural|select|selectordinal|choice)\s*,")
_IDENTIFIER = re.compile(
    r"[a-z][a-z\d]*(?:[A-Z][a-z\d]*)+|\w+(?:(?:[_\\#@]|::?)\w+)+|_+\w+|[\w-]+(?:\.[\w-]+)+|[a-z\d]+(?:-[a-z\d]+)+|"
    r"[A-Z\d]*\d[A-Z\d]*|#[\da-fA-F]{3,8}|[\da-fA-F]{8,}(?:-[\da-fA-F]+)*|\d[\d.,:TZ+/-]*|[a-z]+:\S+|\S+@\S+|"
    r"(?:~|\.{0,2})/\S*|[A-Za-z]:\\\S*|(?:[\w-]+/)+[\w.-]+\.\w+|\w+(?:/\w+){2,}"
)


def find_placeholders(text: str) -> list[str]:
    return [match[0] for match in PLACEHOLDER.finditer(text)]


def has_words(text: str) -> bool:
    """Whether there is anything to translate besides placeholders."""
    return any(map(str.isalpha, PLACEHOLDER.sub("", text)))


def keeps_placeholders(source: str, translation: str) -> bool:
    """Whether a translation has exactly the placeholders of its source, in any order."""
    return Counter(find_placeholders(source)) == Counter(find_placeholders(translation))


def is_identifier(text: str) -> bool:
    """Whether a text is a name, an address or a number rather than language: my_key, a/b.png, #ff0000, fooBar."""
    return not any(map(str.isalpha, text)) or (" " not in text.strip() and bool(_IDENTIFIER.fullmatch(text.strip())))


@dataclass(frozen=True)
class Message:
    """The text of a message without the white space around it, and with its tags and choices taken out."""

    raw: str
    tree: InlineTree
    lead: str
    tail: str
    write: Callable[[str], str] = str
    """Escapes text between the tags."""

    @property
    def text(self) -> str:
        return self.tree.text

    @property
    def tagged(self) -> bool:
        return self.tree.tagged

    @property
    def translatable(self) -> bool:
        return has_words(self.text)

    def fill(self, translation: str, links: Sequence[Link]) -> str | None:
        """Return the translated message; None if a placeholder is missing or too many."""
        if translation == self.text:
            return self.raw
        if not keeps_placeholders(self.text, translation):
            return None
        return self.lead + place(self.tree.root, self.text, translation, links, self.write) + self.tail


@dataclass(frozen=True)
class EncodedMessage:
    """A message as a file has it, quoted and escaped; a translation that lost a placeholder is not written."""

    raw: str
    message: Message
    encode: Callable[[str], str]
    """Quotes and escapes another message in the same way."""

    @property
    def text(self) -> str:
        return self.message.text

    @property
    def tagged(self) -> bool:
        return self.message.tagged

    def fill(self, translation: str, links: Sequence[Link]) -> str:
        filled = self.message.fill(translation, links)
        return self.raw if filled is None or filled == self.message.raw else self.encode(filled)


def read_message(raw: str, kept: re.Pattern[str] | None = None) -> Message:
    """Read a message: HTML tags are placed by alignment, ICU plurals and selections are placeholders.

    So is what matches `kept`, for placeholders that only one kind of file has.
    """
    inner = raw.strip()
    start = raw.find(inner)
    tree, end = InlineTree(raw), 0
    for span in sorted((*_find_choices(inner), *(found.span() for found in (kept.finditer(inner) if kept else ())))):
        if span[0] < end:
            continue
        _add_tags(tree, inner[end : span[0]])
        tree.add_placeholder(inner[slice(*span)])
        end = span[1]
    _add_tags(tree, inner[end:])
    return Message(raw, tree, raw[:start], raw[start + len(inner) :])


def _find_choices(text: str) -> Iterator[Span]:
    """Yield the spans of ICU plurals and selections, with the messages nested in them."""
    end = 0
    for found in _CHOICE.finditer(text):
        if found.start() < end:
            continue
        depth = 0
        for brace in re.compile(r"[{}]").finditer(text, found.start()):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                end = brace.end()
                yield found.start(), end
                break
        else:  # it is not closed
            return


def _add_tags(tree: InlineTree, raw: str) -> None:
    tokens = list(tokenise(raw, html=False))
    partners = pair_up(tokens)
    for number, token in enumerate(tokens):
        if token.kind == "text":
            tree.add_text(token.raw)
        else:
            add_tag(tree, token, number, partners[number])


def add_tag(tree: InlineTree, token: Token, number: int, partner: int) -> None:
    """Add a tag with its number and that of the other tag of its element, -1 if it has none."""
    if partner > number:
        tree.open(token.raw)
    elif partner >= 0:
        tree.close(token.raw)
    else:
        tree.add_mark(token.raw, ordered=token.kind in ("open", "close"))


_TWO = "nplurals=2; plural=(n != 1);"
_SLAVIC = "n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2"
_FORMS = {
    **dict.fromkeys("ja ko zh vi th id ms lo my km".split(), "nplurals=1; plural=0;"),  # noqa: SIM905
    **dict.fromkeys(
        "en de nl sv da nb nn no fi et hu el it es pt ca gl eu he bg sq sw af ka kk mn az ur bn ta te ml mr ne".split(),  # noqa: SIM905
        _TWO,
    ),
    **dict.fromkeys(("fr", "pt-br", "tr", "fa", "hi", "hy"), "nplurals=2; plural=(n > 1);"),
    **dict.fromkeys(("ru", "uk", "be", "sr", "hr", "bs"), f"nplurals=3; plural=({_SLAVIC});"),
    **dict.fromkeys(("cs", "sk"), "nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;"),
    "pl": "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2);",
    "lt": "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<12 || n%100>19) ? 1 : 2);",
    "lv": "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2);",
    "ro": "nplurals=3; plural=(n==1 ? 0 : (n==0 || (n%100 > 0 && n%100 < 20)) ? 1 : 2);",
    "sl": "nplurals=4; plural=(n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3);",
    "ar": "nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5);",
    "ga": "nplurals=5; plural=(n==1 ? 0 : n==2 ? 1 : n<7 ? 2 : n<11 ? 3 : 4);",
    "cy": "nplurals=4; plural=(n==1) ? 0 : (n==2) ? 1 : (n != 8 && n != 11) ? 2 : 3;",
}


def plural_rule(language: str) -> str:
    """The Plural-Forms header of a language; empty if it is not known."""
    code = language.lower().replace("_", "-")
    return _FORMS.get(code) or _FORMS.get(code.split("-")[0], "")


def numbers_by_form(count: int, rule: str) -> list[list[int]]:
    """For each plural form, the numbers below 300 that take it; `rule` is an expression in C."""
    forms: list[list[int]] = [[] for _ in range(count)]
    try:
        choose = c2py(rule)
        for number in range(300):
            forms[choose(number)].append(number)
    except (ValueError, IndexError, RecursionError, ZeroDivisionError):
        return [[1], *([*range(2, 300)] for _ in range(count - 1))]
    return forms
