"""Terms of a glossary: words and phrases of the source text whose translation is given."""

import re
from collections.abc import Iterable, Iterator

from hark.text.rewrite import Span

_TOKEN = re.compile(r"\w+|[^\w\s]")
_JOINED = re.compile(r"-\w")
"""A hyphenated compound is a word of its own: `mail` is not a word of `e-mail`."""


class Terms:
    """The terms of one glossary for one pair of languages; hashable, so that requests with it can be compared."""

    def __init__(self, entries: Iterable[tuple[str, str]]) -> None:
        self.entries = tuple(sorted(dict(entries).items()))
        self._hash = hash(self.entries)
        self._by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for source, target in self.entries:
            tokens = tuple(token.casefold() for token in _TOKEN.findall(source))
            if tokens:
                self._by_first.setdefault(tokens[0], []).append((tokens, target))
        for candidates in self._by_first.values():
            candidates.sort(key=lambda each: -len(each[0]))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Terms) and self.entries == other.entries)

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        return bool(self._by_first)

    def __repr__(self) -> str:
        return f"Terms({len(self.entries)} entries)"

    def find(self, text: str) -> Iterator[tuple[Span, str]]:
        """Yield the terms in a text with their translations, in order; the longest of overlapping ones.

        Terms are matched as whole words, in any case, with any white space between their words.
        """
        tokens = [(match[0].casefold(), match.span()) for match in _TOKEN.finditer(text)]
        place = 0
        while place < len(tokens):
            found = None
            for words, target in self._by_first.get(tokens[place][0], ()):
                here = tokens[place : place + len(words)]
                if tuple(word for word, _ in here) == words and _stands_alone(text, here[0][1][0], here[-1][1][1]):
                    found = len(words), target
                    break
            if found is None:
                place += 1
                continue
            length, target = found
            yield (tokens[place][1][0], tokens[place + length - 1][1][1]), target
            place += length


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a span is not part of a hyphenated compound."""
    before = start > 1 and text[start - 1] == "-" and text[start - 2].isalnum()
    return not before and not _JOINED.match(text, end)
