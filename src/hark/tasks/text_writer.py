"""From tokens to text as they come: pieces that end with whole characters, and what is told of each token."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hark.engine.interface import LikelyTokens
from hark.text.vocabulary import Vocabulary

FRAME = "x"
REPLACED = "\ufffd"


class TextWriter:
    """Turns the tokens of one text, as they come, into pieces of text, which concatenate to all of it.

    No piece ends within a character, or has a part of a stop string: what may become either is held back.
    """

    def __init__(self, vocabulary: Vocabulary, stop: Sequence[str] = (), begins: bool = False) -> None:
        """`begins`: nothing precedes the text, so the space before its first word is not part of it."""
        self.vocabulary, self.stop, self.begins = vocabulary, stop, begins
        self.count = 0
        """How many tokens it has seen, up to the one that completes a stop string."""
        self.stopped = False
        self.text = ""
        """All pieces so far."""
        self._pending: list[int] = []
        """Tokens that end within a character."""
        self._held = ""
        """Text that may be the beginning of a stop string."""
        self._names: dict[int, str] = {}
        # Vocabularies drop spaces at both ends of what they decode, so tokens are decoded between two others.
        self._marks = frozenset(vocabulary.sentinels)
        self._frame = vocabulary.encode_literal(FRAME)
        if vocabulary.special.unknown in self._frame:
            self._frame = vocabulary.encode_literal(min(filter(str.isalpha, vocabulary.alphabet)))
        self._left = vocabulary.decode_one(self._frame)
        self._right = vocabulary.decode_one([*self._frame, *self._frame])[len(self._left) :]

    def push(self, tokens: Sequence[int], last: bool = False) -> str:
        """Return the text that further tokens have completed; with the `last` tokens, all of it."""
        if self.stopped:
            return ""
        self.count += len(tokens)
        self._pending += tokens
        text = self.decode(self._pending)
        if text.endswith(REPLACED) and not last:
            return ""
        self._pending = []
        if self.begins and text:
            text, self.begins = text.removeprefix(" "), False
        piece = self._release(self._held + text, last)
        self.text += piece
        return piece

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens that others may precede and follow, with the names of sentinels."""
        if marks := [place for place, token in enumerate(tokens) if token in self._marks]:
            first = marks[0]
            (name,) = self.vocabulary.pieces([tokens[first]])
            return f"{self.decode(tokens[:first])} {name}{self.decode(tokens[first + 1 :])}"
        if not tokens:
            return ""
        whole = self.vocabulary.decode_one([*self._frame, *tokens, *self._frame])
        return whole[len(self._left) : len(whole) - len(self._right)]

    def name(self, token: int) -> str:
        """The text of a token, or its bytes, such as `bytes:\\xf0\\x9f`, if it is only a part of a character, or the
        name of a special one."""
        if token not in self._names:
            text = self.decode([token])
            if REPLACED in text:
                part = self.vocabulary.bytes_of(token)
                shown = "".join(chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}" for byte in part or b"")
                text = f"bytes:{shown}" if part else ""
            self._names[token] = text or self.vocabulary.pieces([token])[0]
        return self._names[token]

    def _release(self, text: str, last: bool) -> str:
        # The string that is complete first, so that the result does not depend on how the text arrives.
        ends = ((start + len(stop), start) for stop in self.stop if (start := text.find(stop)) >= 0)
        found = min(ends, default=None)
        if found is not None:
            self.stopped = True
            return text[: found[1]]
        most = 0 if last else min(max(map(len, self.stop), default=1) - 1, len(text))
        beginnings = (n for n in range(most, 0, -1) if any(stop.startswith(text[-n:]) for stop in self.stop))
        held = next(beginnings, 0)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]


class TokenChance(NamedTuple):
    """A token of a text, and how likely the model thought it."""

    text: str
    offset: int
    """Where it begins in the text. Tokens that are parts of one character have the same."""
    log_prob: float | None
    """None: the model expects nothing in its place, because it is the first that it reads."""
    alternatives: dict[str, float]
    """The likeliest tokens in its place, and their log-probabilities."""


def chances_of(
    writer: TextWriter, tokens: Sequence[int], log_probs: Sequence[float], likely: Sequence[LikelyTokens]
) -> Iterator[TokenChance]:
    """What is told of tokens that a writer is about to write. There may be further values, such as those of EOS."""
    for token, log_prob, others in zip(tokens, log_probs, likely, strict=False):
        offset = len(writer.text)
        writer.push([token])
        yield TokenChance(
            writer.name(token), offset, log_prob, {writer.name(other): chance for other, chance in others}
        )
