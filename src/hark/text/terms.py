"""Terms of a glossary: words and phrases of the source text whose translation is given."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from hark.text.rewrite import Span

_TOKEN = re.compile(r"\w+|[^\w\s]")
_JOINED = re.compile(r"-\w")
"""A hyphenated compound is a word of its own: `mail` is not a word of `e-mail`."""
_END, _KEPT = "", " "
"""The keys of a translation and of a term that is not translated in the trie; no token is empty or a space."""
MIN_STEM_LETTERS, MAX_ENDING_LETTERS = 4, 3
"""Of a term that may be inflected, and of its ending."""


class Terms:
    """The terms of one glossary for one pair of languages; hashable, so that requests with it can be compared."""

    def __init__(self, entries: Iterable[tuple[str, str]], kept: Iterable[str] = ()) -> None:
        """`kept`: terms that are not translated; unlike others, they are found only in this very case."""
        self.entries = tuple(sorted(dict(entries).items()))
        self.kept = tuple(sorted(set(kept)))
        self._hash = hash((self.entries, self.kept))
        # A trie of tokens: the time does not depend on the number of entries, whatever they have in common.
        self._trie: dict[str, Any] = {}
        for source, target in (*self.entries, *((term, None) for term in self.kept)):
            node, tokens = self._trie, _TOKEN.findall(source)
            for token in tokens:
                node = node.setdefault(token.casefold(), {})
            if target is not None and tokens:
                node[_END] = target
            elif tokens:
                node.setdefault(_KEPT, set()).add(tuple(tokens))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Terms) and (self.entries, self.kept) == (other.entries, other.kept))

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        return bool(self._trie)

    def __repr__(self) -> str:
        return f"Terms({len(self.entries)} entries, {len(self.kept)} kept)"

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
                if (_END in node or _KEPT in node) and _stands_alone(text, start, end):
                    written = text[start:end]
                    if _KEPT in node and tuple(_TOKEN.findall(written)) in node[_KEPT]:
                        found = after, end, written
                    elif _END in node:
                        found = after, end, node[_END]
            if found is None:
                place += 1
            else:
                place, end, target = found
                yield (start, end), target


def is_inflected(words: str, term: str) -> bool:
    """Whether words are a term, in any case, perhaps with an ending of a few letters."""
    words, term = words.casefold(), term.casefold()
    ending = words.removeprefix(term)
    if not words.startswith(term) or not ending:
        return words == term
    return len(term) >= MIN_STEM_LETTERS and len(ending) <= MAX_ENDING_LETTERS and ending.isalpha()


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a span is not part of a hyphenated compound."""
    before = start > 1 and text[start - 1] == "-" and text[start - 2].isalnum()
    return not before and not _JOINED.match(text, end)
