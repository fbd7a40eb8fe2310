"""Records what a model with an encoder and a decoder, but without languages, makes of a text (T5, BART).

Unless the output is given, it is what `hark generate` prints. Everything else is as for a translation; only the
vocabulary and the text differ: no sentences, no rules, and sentinels or a mask in place of what is hidden.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from hark.bundle import Bundle, name_of
from hark.config import DecodeConfig
from hark.engine.interface import Hypothesis, Request, length_penalty
from hark.errors import UserError
from hark.inspect.attention import count_layers, lay_out
from hark.inspect.expectation import Expected, expectations
from hark.inspect.reading import LONGEST, MOST_WEIGHTS
from hark.inspect.recording import Recording, complete, watched
from hark.inspect.words import Spelling
from hark.model import Transformer
from hark.model.weights import load_model
from hark.text.opening import open_vocabularies
from hark.text.vocabulary import Vocabulary

MAX_TOKENS = 256
"""Maximum tokens to generate by default, as `hark generate`; fewer if a page shows fewer."""


@dataclass(frozen=True)
class TextToText:
    """A model that makes text from text, on the CPU in float32, and its vocabularies."""

    bundle: Bundle
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    model: Transformer

    @classmethod
    def open(cls, folder: Path | str) -> "TextToText":
        bundle = Bundle.open(folder)
        return cls(bundle, *open_vocabularies(bundle), load_model(bundle))

    @property
    def name(self) -> str:
        return name_of(self.bundle.folder.resolve())

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of an output, with the names of sentinels."""
        return Spelling.of(tokens, self.target_vocabulary).text

    def room(self, source: int) -> int:
        """How many tokens of output a page has room for beside this many of the source; EOS included."""
        config = self.model.config
        layers = count_layers(config)
        encoder, decoder = layers["encoder"] * config.n_heads, layers["decoder"] * config.n_heads
        left = MOST_WEIGHTS - encoder * source**2
        # Each head of the decoder has a row for each token, in self-attention and in cross-attention.
        most = (math.sqrt(source**2 + 4 * left / decoder) - source) / 2 if left > 0 else 0.0
        return min(config.max_positions, int(most)) if source <= config.max_positions else 0


def record_output(
    loaded: TextToText, text: str, output: str | None = None, max_tokens: int | None = None, **search: object
) -> Recording:
    """Record what a model makes of a text, by a search with `search` as settings, or how it would write an output."""
    for given, what in ((text, "text"), (output, "output")):
        if given is not None and not given.strip():
            raise UserError(f"no {what}; give some")
        if given is not None and len(given) > LONGEST:
            raise UserError(
                f"the {what} has {len(given):,} characters; the limit of a page is {LONGEST:,}; give a shorter one"
            )
    source = loaded.source_vocabulary
    source_ids = source.as_source(source.encode_marked(text))
    room = loaded.room(len(source_ids))
    if output is None:
        return record_search(loaded, text, source_ids, room, max_tokens, **search)
    target = loaded.target_vocabulary
    lead = target.prefix()
    tokens = (*lead, *target.encode_marked(output))
    check_length(loaded, source_ids, len(tokens) + 1, room, "the output has")
    chosen = read_output(loaded, source_ids, tokens)[len(lead) :]
    expected = (*[None] * len(lead), *chosen)
    log_probs = [each.log_prob or 0.0 for each in chosen]
    score = sum(log_probs) / length_penalty(len(log_probs), loaded.bundle.config.decode.alpha)
    hypothesis = Hypothesis(tokens, sum(log_probs), score, complete=True)
    return complete(loaded, source_ids, hypothesis, None, text, loaded.decode(tokens), expected=expected)


def record_search(
    loaded: TextToText, text: str, source_ids: Sequence[int], room: int, max_tokens: int | None, **changes: object
) -> Recording:
    target = loaded.target_vocabulary
    lead = target.prefix()
    if max_tokens == 0:
        raise UserError("max_tokens 0: must be at least 1")
    most = min(MAX_TOKENS, max(1, room - len(lead))) if max_tokens is None else max_tokens
    check_length(loaded, source_ids, len(lead) + most, room, "the output may get")
    plain = DecodeConfig(beam=1, alpha=loaded.bundle.config.decode.alpha)
    settings = replace(plain.changed(dict(changes)), sample=False, diverse=False)
    recorder, engine = watched(loaded)
    ((_, (best, *_)),) = engine.run([Request(source_ids, settings, lead, longest=len(lead) + most)])
    engine.close()
    (found,) = recorder.searches
    notes = []
    if not best.complete:
        remedy = "the limit of a page" if len(lead) + most == room else "raise --max-tokens for more"
        notes.append(f"the output is cut off after {most:,} tokens; {remedy}")
    return complete(loaded, source_ids, best, found, text, loaded.decode(best.tokens), notes)


def check_length(loaded: TextToText, source_ids: Sequence[int], written: int, room: int, what: str) -> None:
    if not room:
        full = f"leaves no room for an output on a page of {loaded.name}"
        raise UserError(f"the text has {len(source_ids):,} tokens, which {full}; give a shorter one")
    if written > room:
        beside = f"{loaded.name} shows at most {room:,} beside a text of {len(source_ids):,}"
        raise UserError(f"{what} {written:,} tokens, but a page of {beside}; give less")


@torch.no_grad()
def read_output(loaded: TextToText, source_ids: Sequence[int], tokens: Sequence[int]) -> list[Expected]:
    """What the model expects in the place of each token of an output, and of EOS."""
    special = loaded.target_vocabulary.special
    streams, layout = lay_out(loaded.model, [(source_ids, (special.start, *tokens))])
    log_prob_TV = loaded.model.logits(loaded.model.hidden(streams, layout)[0]).float().log_softmax(-1)
    return expectations(log_prob_TV, [*tokens, special.end])
