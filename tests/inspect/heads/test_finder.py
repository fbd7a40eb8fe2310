"""Names of heads of an encoder and a decoder without languages, in a model whose weights are made by hand.

Relative positions alone make some of its heads look at neighbours. In the decoder, 1:1 writes the previous token beside
each one, and 2:2 looks for a token before which stands the one that is being read: an induction head.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hark.config import ModelConfig
from hark.inspect.attention import Head
from hark.inspect.heads.corpus import HeadCorpus, HeadExample
from hark.inspect.heads.finder import Finder, FoundHead, HeadReport, TextFigures, put_together, quietly
from hark.inspect.heads.picture import draw
from hark.inspect.heads.table import notes
from hark.inspect.variants import attention_of, without_heads
from hark.model import Transformer
from hark.text.byte_pair_training import learn_byte_pairs

VOCABULARY = learn_byte_pairs([], 265, 4)
V = VOCABULARY.vocab_size
CONFIG = ModelConfig(
    n_encoder_layers=1, n_decoder_layers=2, d_model=3 * V, d_ff=1, n_heads=2, d_k=V, d_v=V, vocab_size=V, dropout=0.0,
    norm="pre", norm_kind="rms", positions="relative", tie="none", scale_embedding=False, attention_bias=False,
    feed_forward_bias=False, max_positions=128,
)  # fmt: skip
TOKEN, BEFORE, NEXT = (slice(at * V, (at + 1) * V) for at in range(3))
PREVIOUS, INDUCTION = Head("decoder", 0, 0), Head("decoder", 1, 1)
BEHIND, AHEAD = 1, 17
"""The buckets of the token before and, of an encoder, of the one after."""


@pytest.fixture(scope="module")
def model() -> Transformer:
    model = Transformer(CONFIG).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" not in name:
                weight.zero_()
        model.embedding.weight[:, TOKEN] = torch.eye(V)
        source, target = model.source_positions.weight, model.target_positions.weight
        source[BEHIND, 0] = source[AHEAD, 1] = target[BEHIND, 0] = 40.0  # type: ignore[index]
        for head, out in ((PREVIOUS, BEFORE), (INDUCTION, NEXT)):
            attention, rows = attention_of(model, head), slice(head.number * V, (head.number + 1) * V)
            attention.w_v.weight[rows, TOKEN] = torch.eye(V)
            # The norm before the layer makes each of one or two ones larger by a factor, which is taken back here.
            attention.w_o.weight[out, rows] = torch.eye(V) / (3 * V / (1 + head.layer)) ** 0.5
        induction, rows = attention_of(model, INDUCTION), slice(V, 2 * V)
        induction.w_q.weight[rows, TOKEN] = induction.w_k.weight[rows, BEFORE] = torch.eye(V)
        assert model.projection is not None
        model.projection.weight[:, NEXT] = torch.eye(V)
    return model


def look(model: Transformer) -> tuple[dict[Head, FoundHead], TextFigures]:
    chance, special = np.random.default_rng(1), VOCABULARY.special
    examples = []
    for number in range(4):
        source, written = (tuple(chance.integers(9, V - 4, size).tolist()) for size in (30, 20))
        ends = (*source, special.end), (special.start, *written), (*written, special.end)
        examples.append(HeadExample(number, "", "", *ends))
    corpus = HeadCorpus(tuple(examples), 4)
    finder = Finder(model, quietly, VOCABULARY, VOCABULARY)
    means, _ = finder.look(corpus, None)
    figures = TextFigures(corpus.tokens, "nats per token", finder.repeat(means), "text to text")
    return {each.head: each for each in put_together(means, None, {})}, figures


def test_heads_of_an_encoder_and_a_decoder_get_their_names(model: Transformer) -> None:
    heads, figures = look(model)
    roles = {str(head): (found.named.role, found.named.share) for head, found in heads.items()}
    near_one = pytest.approx(1.0, abs=0.02)
    assert roles["encoder 1:1"] == ("previous", near_one)
    assert roles["encoder 1:2"] == ("next", near_one)
    assert roles["decoder 1:1"] == ("previous", near_one)
    assert roles["decoder 2:2"] == ("induction", near_one)
    assert roles["decoder 1:2"][0] == roles["cross 1:1"][0] == "broad"
    assert "induction" not in heads[Head("encoder", 0, 0)].measures
    assert figures.repetition is not None
    assert figures.repetition.first > 4
    assert figures.repetition.second < 0.1


def test_without_the_head_that_induction_needs_repetition_helps_nothing(model: Transformer) -> None:
    _, figures = look(without_heads(model, [PREVIOUS]))
    assert figures.repetition is not None
    assert figures.repetition.second > 4


def test_the_report_names_heads_by_their_stack(model: Transformer) -> None:
    heads, figures = look(model)
    report = HeadReport("own", "text", 4, 0, tuple(heads.values()), None, None, figures)
    written = [*notes(report)]
    assert written[0] == f"4 parts of text with {figures.tokens:,} tokens"
    assert "previous token, encoder: 1:1 (1.00)" in written
    assert "next token, encoder: 1:2 (1.00)" in written
    assert "induction, decoder: 2:2 (1.00)" in written
    drawn = draw(report)
    assert "Decoder: a token of the output looks at the output so far" in drawn
    assert "translation so far" not in drawn
    pairs = replace(report, text=replace(figures, examples="pair"))
    assert next(notes(pairs)).startswith("4 pairs of text with ")
