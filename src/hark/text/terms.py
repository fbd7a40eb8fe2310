"""Terms of a glossary: words and phrases of the source text whose translation is given."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from hark.text.rewrite import Span

_TOKEN = re.compile(r"\w+|[^\w\s]")
_JOINED = re.compile(r"-\w")
"""A hyphenated compound is a word of its own: `mail` is not a word of `e-mail`."""


_END = ""
"""The key of a translation in the trie; no token is empty."""


class Terms:
    """The terms of one glossary for one pair of languages; hashable, so that requests with it can be compared."""

    def __init__(self, entries: Iterable[tuple[str, str]]) -> None:
        self.entries = tuple(sorted(dict(entries).items()))
        self._hash = hash(self.entries)
        # A trie of tokens: the time does not depend on the number of entries, whatever they have in common.
        self._trie: dict[str, Any] = {}
        for source, target in self.entries:
            node = self._trie
            for token in _TOKEN.findall(source):
                node = node.setdefault(token.casefold(), {})
            if node is not self._trie:
                node[_END] = target

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Terms) and self.entries == other.entries)

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        return bool(self._trie)

    def __repr__(self) -> str:
        return f"Terms({len(self.entries)} entries)"

    def find(self, text: str) -> Iterator[tuple[Span, str]]:
        """Yield the terms in a text with their translations, in order; the longest of overlapping ones.

        Terms are matched as whole words, in any case, with any white space between their words.
        """
        tokens = [(match[0].casefold(), match.span()) for match in _TOKEN.finditer(text)]
        place = 0
        while place < len(tokens):
            start = tokens[place][1][0]
            found: tuple[int, int, str] | None = None
            node = self._trie
            for after in range(place + 1, len(tokens) + 1):
                word, (_, end) = tokens[after - 1]
                if word not in node:
                    break
                node = node[word]
                if _END in node and _stands_alone(text, start, end):
                    found = after, end, node[_END]
            if found is None:
                place += 1
            else:
                place, end, target = found
                yield (start, end), target


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a span is not part of a hyphenated compound."""
    before = start > 1 and text[start - 1] == "-" and text[start - 2].isalnum()
    return not before and not _JOINED.match(text, end)
