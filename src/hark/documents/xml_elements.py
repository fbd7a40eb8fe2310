"""What files of messages in XML share: the elements of a file, and messages whose special characters are references."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from html import unescape
from itertools import accumulate

from hark.documents.markup_tokens import ATTRIBUTE, Token, pair_up, tokenise
from hark.documents.messages import EncodedMessage, read_message
from hark.text.rewrite import Span


@dataclass(frozen=True)
class XmlElements:
    """The tokens of an XML file, where they begin, and the partner of each tag."""

    text: str
    tokens: Sequence[Token]
    starts: Sequence[int]
    partners: Sequence[int]

    @classmethod
    def of(cls, text: str) -> "XmlElements":
        tokens = list(tokenise(text, html=False))
        return cls(text, tokens, list(accumulate((len(token.raw) for token in tokens), initial=0)), pair_up(tokens))

    def tag(self, number: int) -> Span:
        return self.starts[number], self.starts[number + 1]

    def span(self, number: int) -> Span:
        """The span of the content of an element; nothing, after its tag, if it has none."""
        close = self.partners[number]
        start = self.starts[number + 1]
        return (start, self.starts[close]) if close > number else (start, start)

    def content(self, number: int) -> str:
        return self.text[slice(*self.span(number))]

    def children(self, number: int) -> Sequence[int]:
        """The numbers of the opening tags directly inside an element."""
        found: list[int] = []
        at = number + 1
        while at < self.partners[number]:
            if self.tokens[at].kind in ("open", "single"):
                found.append(at)
            at = max(at, self.partners[at]) + 1
        return found


def read_escaped(raw: str, kept: re.Pattern[str]) -> EncodedMessage:
    """Read a message in which tags are escaped, as `&lt;b&gt;`; what matches `kept` is a placeholder."""
    return EncodedMessage(raw, read_message(unescape(raw), kept), partial(_escape, "&quot;" in raw or "&apos;" in raw))


def _escape(quotes: bool, value: str) -> str:
    value = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return value.replace('"', "&quot;").replace("'", "&apos;") if quotes else value


def attributes(tag: str) -> dict[str, str]:
    return {found[1]: unescape(found[2].strip("\"'")) for found in ATTRIBUTE.finditer(tag)}
