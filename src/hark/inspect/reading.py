"""Records how a model of one stack reads a text: what it expects at each place, all attention weights, their vectors.

A decoder expects each token from those before it, and may continue the text first. An encoder expects a token from both
sides; so that it cannot see the answer, each token is hidden in turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from hark.bundle import Bundle, name_of
from hark.config import DecodeConfig
from hark.engine.interface import Request
from hark.engine.torch import TorchEngine
from hark.errors import UserError
from hark.inspect.attention import Attention, AttentionKind, lay_out
from hark.inspect.expectation import Expected, expectation, expectations
from hark.inspect.recording import Vectors, capture
from hark.inspect.words import Spelling
from hark.model import OneStack
from hark.model.weights import load_one_stack
from hark.text.opening import open_vocabularies
from hark.text.vocabulary import Vocabulary

LONGEST = 4_000
"""Maximum characters of a text. The limit of tokens, which depends on the model, is lower."""
MOST_WEIGHTS = 6_000_000
"""Maximum weights of all heads together: they make up most of the page."""
HIDDEN_IN_TURN = 128
"""Maximum tokens of a text whose tokens are hidden in turn: each costs a pass over the text."""
BATCH_TOKENS = 2048


@dataclass(frozen=True)
class TextModel:
    """A model of one stack, on the CPU in float32, and its vocabulary."""

    bundle: Bundle
    vocabulary: Vocabulary
    model: OneStack

    @classmethod
    def open(cls, folder: Path | str) -> "TextModel":
        bundle = Bundle.open(folder)
        return cls(bundle, open_vocabularies(bundle)[1], load_one_stack(bundle))

    @property
    def name(self) -> str:
        return name_of(self.bundle.folder.resolve())

    @property
    def kind(self) -> AttentionKind:
        return "decoder" if self.bundle.config.model.shape == "decoder" else "encoder"

    @property
    def silence(self) -> str:
        """Why it predicts no tokens; empty if it does. Of an encoder that does not, only attention is known."""
        if self.kind == "encoder" and self.vocabulary.mask is None:
            return "its vocabulary has no mask"
        return self.bundle.silence


@dataclass(frozen=True, eq=False)
class TextReading:
    """The recording of one text."""

    model: str
    kind: AttentionKind
    text: str
    """As given."""
    whole: str
    """With what the model wrote after it."""
    spelling: Spelling
    ids: tuple[int, ...]
    given: int
    """The number of tokens given, start included; the model wrote the rest."""
    expected: tuple[Expected | None, ...]
    """What is expected in the place of each token, and after the last one of a decoder's text that has not ended."""
    rows: tuple[int, ...]
    """The positions at which scored tokens are predicted."""
    scored: tuple[int, ...]
    """Their own positions: of a decoder one later. Those of an encoder are masks."""
    wanted: tuple[int, ...]
    """The tokens that are scored: those of the text, or the likeliest one for a mask."""
    attention: Attention
    vectors: dict[AttentionKind, Vectors]
    notes: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """The mean log-probability of the tokens that are scored and were not chosen by the model."""
        known = [
            each.log_prob for each in self.expected[: self.given] if each is not None and each.log_prob is not None
        ]
        return sum(known) / len(known) if known else 0.0


def read_text(loaded: TextModel, text: str, max_tokens: int = 0) -> TextReading:
    """Record a text. A decoder first continues it by up to `max_tokens` tokens, always taking the likeliest."""
    if not text.strip():
        raise UserError("no text; give some")
    if len(text) > LONGEST:
        raise UserError(
            f"the text has {len(text):,} characters; the limit of a page is {LONGEST:,}; give a shorter one"
        )
    vocabulary, model = loaded.vocabulary, loaded.model
    ids = encode(loaded, text)
    check_length(loaded, len(ids), max_tokens)
    given, whole, notes = len(ids), text, list[str]()
    if max_tokens:
        if loaded.kind == "encoder":
            raise UserError(
                f"{loaded.name}: has an encoder alone, so it does not continue text; leave out --max-tokens"
            )
        ids = continue_text(loaded, ids, max_tokens)
        whole = vocabulary.decode_one(ids)
    attention, vectors = capture(model, ids)
    expected: list[Expected | None] = [None] * len(ids)
    rows: list[int] = []
    wanted: list[int] = []
    if loaded.kind == "decoder":
        expected = read_on(loaded, ids)
        rows, wanted = list(range(len(ids) - 1)), list(ids[1:])
    elif loaded.silence:
        notes.append(f"this page shows attention only: the model predicts no tokens, because {loaded.silence}")
    else:
        masks = [at for at, token in enumerate(ids) if token == vocabulary.mask]
        places = [at for at, token in enumerate(ids) if at in masks or not vocabulary.is_special(token)]
        if len(ids) > HIDDEN_IN_TURN:
            notes.append(f"the text has more than {HIDDEN_IN_TURN} tokens, so only masks are predicted")
            places = masks
        expected = hide_in_turn(loaded, ids, places)
        rows, wanted = masks, [found.likely[0][0] for at in masks if (found := expected[at]) is not None]
    return TextReading(
        model=loaded.name,
        kind=loaded.kind,
        text=text,
        whole=whole,
        spelling=Spelling.of(ids, vocabulary),
        ids=tuple(ids),
        given=given,
        expected=tuple(expected),
        rows=tuple(rows),
        scored=tuple(row + (loaded.kind == "decoder") for row in rows),
        wanted=tuple(wanted),
        attention=attention,
        vectors=vectors,
        notes=tuple(notes),
    )


def encode(loaded: TextModel, text: str) -> list[int]:
    """The tokens that the model reads."""
    vocabulary = loaded.vocabulary
    if loaded.kind == "encoder":
        return vocabulary.enclose(vocabulary.encode_masked(text))
    start = vocabulary.text_start
    return [*([] if start is None else [start]), *vocabulary.encode_literal(text)]


def check_length(loaded: TextModel, tokens: int, more: int) -> None:
    config = loaded.model.config
    heads = config.n_heads * len(loaded.model.stack.layers)
    most = min(config.max_positions, int((MOST_WEIGHTS / heads) ** 0.5))
    if tokens + more > most:
        written = f" and may get {more:,} more" if more else ""
        raise UserError(f"the text has {tokens:,} tokens{written}; a page of {loaded.name} shows at most {most:,}")


def continue_text(loaded: TextModel, ids: Sequence[int], max_tokens: int) -> list[int]:
    """Return the tokens with those that the model writes after them, and EOS if it ended the text."""
    special = loaded.vocabulary.special
    engine = TorchEngine(loaded.model, special, "cpu", "float32")
    start, *prefix = ids
    request = Request((), DecodeConfig(beam=1, max_extra=max_tokens), prefix, start=start)
    ((_, (best, *_)),) = engine.run([request])
    engine.close()
    return [start, *best.tokens, *([special.end] if best.complete else [])]


@torch.no_grad()
def read_on(loaded: TextModel, ids: Sequence[int]) -> list[Expected | None]:
    """What a decoder expects after each token; nothing is known of the first."""
    model = loaded.model
    logits_TV = model.logits(hidden_states(model, [ids])[0])
    ended = ids[-1] == loaded.vocabulary.special.end
    log_prob_TV = logits_TV[: len(ids) - ended].float().log_softmax(-1)
    following: list[int | None] = [*ids[1:], *([] if ended else [None])]
    return [None, *expectations(log_prob_TV, following)]


@torch.no_grad()
def hide_in_turn(loaded: TextModel, ids: Sequence[int], places: Sequence[int]) -> list[Expected | None]:
    """What an encoder expects at each of these places while the token there is hidden."""
    model, mask = loaded.model, loaded.vocabulary.mask
    assert mask is not None
    special = [token for token in range(loaded.vocabulary.vocab_size) if loaded.vocabulary.is_special(token)]
    expected: list[Expected | None] = [None] * len(ids)
    size = max(1, BATCH_TOKENS // len(ids))
    for first in range(0, len(places), size):
        batch = places[first : first + size]
        hidden_BTD = hidden_states(model, [[*ids[:at], mask, *ids[at + 1 :]] for at in batch])
        logits_BV = model.logits(hidden_BTD[torch.arange(len(batch)), torch.tensor(batch)])
        for at, log_prob_V in zip(batch, logits_BV.float().log_softmax(-1), strict=True):
            log_prob_V[special] = -torch.inf
            expected[at] = expectation(log_prob_V, None if ids[at] == mask else ids[at])
    return expected


def hidden_states(model: OneStack, texts: Sequence[Sequence[int]]) -> Tensor:
    """The hidden states of texts of one length, (B, T, D)."""
    streams, layout = lay_out(model, [(text,) for text in texts])
    return model.hidden(streams, layout)
