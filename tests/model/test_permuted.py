"""Permutation language modelling: two streams in one sequence, against the formulas of XLNet token by token."""

import math
from dataclasses import dataclass

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hark.model import Layout, OneStack, new_model
from hark.model.layers import Layer
from hark.model.patterns import Observed, Packed, Permuted
from tests.model.oracle import cumulative, small, stir

MASK = 39
OPTIONS = {
    "learned": {"positions": "learned", "embedding_norm": True, "prediction_layer": True},
    "rotary": {"positions": "rotary", "activation": "gelu", "n_kv_heads": 2},
    "alibi": {"positions": "alibi"},
}


@dataclass(frozen=True)
class Example:
    """Sentences with, for each token, its step in the order: 0 for context, and 1, 2, 3.. for those to predict."""

    texts: list[Tensor]
    steps: list[list[int]]

    @property
    def slots(self) -> list[tuple[int, int, bool]]:
        """Sentence, place, and whether it is a query slot."""
        return [
            (number, place, query)
            for number, steps in enumerate(self.steps)
            for query in (False, True)
            for place, step in enumerate(steps)
            if step or not query
        ]

    @property
    def tokens(self) -> Tensor:
        return torch.tensor([MASK if query else int(self.texts[number][place]) for number, place, query in self.slots])

    @property
    def ranks(self) -> Tensor:
        return torch.tensor([2 * self.steps[number][place] + 1 - query for number, place, query in self.slots])

    @property
    def positions(self) -> Tensor:
        return torch.tensor([place for _, place, _ in self.slots])

    @property
    def queries(self) -> Tensor:
        return torch.tensor([query for _, _, query in self.slots])

    def layout(self, model: OneStack) -> Layout:
        cu = cumulative(torch.tensor([sum(each[0] == n for each in self.slots) for n in range(len(self.texts))]))
        layout = model.packed_layout({"target": cu}, {"target": self.positions}, 16)
        return layout.permuted("target", model.name, self.ranks)


def example(order: str, seed: int = 0) -> Example:
    """`identity`: from left to right; `all`: every token is predicted; `partial`: some are context."""
    torch.manual_seed(seed)
    texts = [torch.randint(30, (length,)) for length in (5, 1, 9, 3)]
    steps = []
    for text in texts:
        every = torch.arange(1, len(text) + 1) if order == "identity" else torch.randperm(len(text)) + 1
        steps.append((every - (len(text) // 2 if order == "partial" else 0)).clamp(min=0).tolist())
    return Example(texts, steps)


def built(options: str = "learned", **more: object) -> OneStack:
    torch.manual_seed(1)
    model = new_model(small(shape="encoder", **{**OPTIONS[options], **more})).eval().double()
    assert isinstance(model, OneStack)
    stir(model)
    return model


class TwoStreams:
    """XLNet's formulas (2.3): h_z(t) attends to h_z(<=t), and g_z(t) to h_z(<t); g begins with a vector that says
    nothing of the token. Post-norm layers; one token and one head at a time."""

    def __init__(self, model: OneStack) -> None:
        self.model, self.config = model, model.config

    def predict(self, text: Tensor, steps: list[int]) -> dict[int, Tensor]:
        """The logits of each predicted place."""
        places = range(len(text))
        h = {place: self.begin(int(text[place]), place) for place in places}
        g = {place: self.begin(MASK, place) for place in places if steps[place]}
        for layer in self.model.stack.layers:
            g, h = (
                {
                    place: self.layer(layer, x, place, {at: h[at] for at in places if sees(steps[at], steps[place])})
                    for place, x in stream.items()
                }
                for stream, sees in ((g, int.__lt__), (h, int.__le__))
            )
        return {place: self.model.logits(self.last(x)) for place, x in g.items()}

    def begin(self, token: int, place: int) -> Tensor:
        x = self.model.embedding.weight[token] * math.sqrt(self.config.d_model)
        if self.config.positions == "learned":
            x = x + self.model.target_positions.weight[place]
        norm = self.model.target_norm
        return x if norm is None else F.layer_norm(x, x.shape, norm.weight, norm.bias)

    def last(self, x: Tensor) -> Tensor:
        layer = self.model.prediction
        return x if layer is None else layer.norm(torch.relu(layer.dense(x)))

    def layer(self, layer: Layer, x: Tensor, place: int, seen: dict[int, Tensor]) -> Tensor:
        x = layer.self_attention_residual.norm(x + self.attend(layer.self_attention, x, place, seen))
        forward = layer.feed_forward
        inner = {"relu": torch.relu, "gelu": F.gelu}[self.config.activation](forward.w_1(x))
        return layer.feed_forward_residual.norm(x + forward.w_2(inner))

    def attend(self, attention: torch.nn.Module, x: Tensor, place: int, seen: dict[int, Tensor]) -> Tensor:
        width, heads, shared = self.config.k_width, self.config.n_heads, self.config.kv_heads
        outs = []
        for head in range(heads):
            theirs = head * shared // heads
            mine = slice(head * width, (head + 1) * width)
            of_key = slice(theirs * width, (theirs + 1) * width)
            q = self.rotate(attention.w_q(x)[mine], place)
            scores = [
                q @ self.rotate(attention.w_k(y)[of_key], at) / math.sqrt(width)
                - (2 ** (-8 * (head + 1) / heads) * abs(at - place) if self.config.positions == "alibi" else 0)
                for at, y in seen.items()
            ]
            weights = torch.stack(scores).softmax(0) if scores else []
            values = [attention.w_v(y)[of_key] for y in seen.values()]
            outs.append(sum((w * v for w, v in zip(weights, values, strict=True)), torch.zeros(width).double()))
        return attention.w_o(torch.cat(outs))

    def rotate(self, x: Tensor, place: int) -> Tensor:
        if self.config.positions != "rotary":
            return x
        angle = place / 10_000.0 ** (torch.arange(0, len(x), 2).double() / len(x))
        return torch.view_as_real(
            torch.view_as_complex(x.unflatten(0, (-1, 2))) * torch.polar(angle**0, angle)
        ).flatten()


@pytest.mark.parametrize("order", ["identity", "all", "partial"])
@pytest.mark.parametrize("options", OPTIONS)
def test_predictions_equal_two_streams_token_by_token(options: str, order: str) -> None:
    model, texts = built(options), example(order)
    with torch.no_grad():
        logits_NV = model(texts.tokens, texts.layout(model))
        expected = [
            logits
            for text, steps in zip(texts.texts, texts.steps, strict=True)
            for logits in TwoStreams(model).predict(text, steps).values()
        ]
    assert len(expected) > 5
    # Tables of angles are in float32.
    torch.testing.assert_close(logits_NV[texts.queries], torch.stack(expected), atol=1e-5, rtol=1e-5)


def test_content_in_the_order_of_the_text_is_a_decoder() -> None:
    model, texts = built("rotary"), example("identity")
    decoder = new_model(small(shape="decoder", **OPTIONS["rotary"])).eval().double()
    assert isinstance(decoder, OneStack)
    decoder.load_state_dict({name.replace("encoder.", "decoder."): each for name, each in model.state_dict().items()})
    with torch.no_grad():
        ours = model(texts.tokens, texts.layout(model))[~texts.queries]
        rows = [
            decoder(text[None], decoder.padded_layout({"target": torch.tensor([len(text)])}))[0] for text in texts.texts
        ]
    torch.testing.assert_close(ours, torch.cat(rows))


def test_without_queries_it_is_an_ordinary_encoder() -> None:
    """So the states that hark embed averages are those of training."""
    model, texts = built(), example("partial")
    context = Example(texts.texts, [[0] * len(text) for text in texts.texts])
    cu = cumulative(torch.tensor([len(text) for text in texts.texts]))
    plain = model.packed_layout({"target": cu}, {"target": context.positions}, 16)
    with torch.no_grad():
        assert torch.equal(model(context.tokens, context.layout(model)), model(context.tokens, plain))


@pytest.mark.parametrize("options", OPTIONS)
def test_nothing_depends_on_what_the_order_hides(options: str) -> None:
    """By changed tokens, to the last bit, and by gradients, which are exactly zero."""
    model, texts = built(options), example("partial")
    layout, tokens = texts.layout(model), texts.tokens
    pattern = layout.patterns[model.name]
    q = torch.empty(len(tokens), 4, 8)
    sees = pattern.visible(q, q) | torch.eye(len(tokens), dtype=torch.bool)
    x = torch.randn(len(tokens), 32, dtype=torch.float64, requires_grad=True)
    rotation = model.target_positions.rotation(layout.positions["target"])
    out = model.stack(x, pattern, rotation=rotation)
    for slot in range(len(tokens)):
        (gradient,) = torch.autograd.grad(out[slot].sum() + out[slot].square().sum(), x, retain_graph=True)
        assert torch.equal(gradient.abs().sum(1) > 0, sees[slot])
    with torch.no_grad():
        before = model(tokens, layout)
        for slot in range(len(tokens)):
            changed = tokens.clone()
            changed[slot] = (tokens[slot] + 1) % 30
            same = (model(changed, layout) == before).all(1)
            assert torch.equal(same, ~sees[:, slot])


def test_the_first_prediction_is_that_of_a_gap() -> None:
    """The layout of hark fill: masks in the places of tokens, seen by nobody."""
    model, texts = built("rotary"), example("partial")
    with torch.no_grad():
        trained = model(texts.tokens, texts.layout(model))
        first = torch.tensor([query and texts.steps[n][place] == 1 for n, place, query in texts.slots])
        found = []
        for text, steps in zip(texts.texts, texts.steps, strict=True):
            is_gap = torch.tensor(steps) > 0
            tokens = torch.where(is_gap, MASK, text)
            positions = torch.arange(len(text))
            layout = model.packed_layout({"target": cumulative(torch.tensor([len(text)]))}, {"target": positions}, 16)
            gaps = layout.permuted("target", model.name, torch.where(is_gap, 2, 1))
            found.append(model(tokens, gaps)[torch.tensor(steps) == 1])
    torch.testing.assert_close(trained[first], torch.cat(found))


@given(st.lists(st.integers(0, 12), min_size=1, max_size=5).filter(sum), st.booleans(), st.integers(0, 2**31))
@settings(max_examples=50)
def test_permuted_equals_observed_with_gradients(lengths: list[int], biased: bool, seed: int) -> None:
    torch.manual_seed(seed)
    slots, cu = sum(lengths), cumulative(torch.tensor(lengths))
    bias_HTS = torch.randn(3, 12, 12, dtype=torch.float64, requires_grad=True) if biased else None
    ranks, positions = torch.randint(0, 9, (slots,)), torch.randint(0, 12, (slots,))
    pattern = Permuted.of(Packed(cu, cu, 12, bias_HTS=bias_HTS), ranks, positions)
    q, k, v = (torch.randn(slots, 3, width, dtype=torch.float64, requires_grad=True) for width in (8, 8, 6))
    seen: list[Tensor] = []
    fast, slow = pattern(q, k, v), Observed(pattern, seen.append)(q, k, v)
    torch.testing.assert_close(fast, slow)
    upstream = torch.randn_like(fast)
    inputs = (q, k, v) if bias_HTS is None else (q, k, v, bias_HTS)
    for a, b in zip(*(torch.autograd.grad(out, inputs, upstream) for out in (fast, slow)), strict=True):
        torch.testing.assert_close(a, b)
    assert seen[0][:, :, ranks % 2 == 0].count_nonzero() == 0
