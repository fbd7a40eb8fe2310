"""Multi-head attention: projections into heads and back (paper, 3.2). Patterns decide which query sees which key."""

from torch import Tensor, nn

from hark.model.backends import PLAIN, Backend
from hark.model.patterns import Attend
from hark.model.positions import Rotation
from hark.model.spec import StackSpec

Memory = Tensor | tuple[Tensor, Tensor]
"""The input of cross-attention: the encoder's output, or keys and values already projected from it."""


class MultiHeadAttention(nn.Module):
    """`MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O` with `head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)`
    (paper, 3.2.2).

    Several heads let the model attend to different subspaces at different positions; a single head would average them.
    With h = 8 heads of width d_k = d_v = d_model / h = 64 they cost about as much as one head of full width. The h
    matrices W_i of a kind are one matrix here, and a head is a slice of its output.

    Keys and values may have fewer heads than queries: then several heads of queries share each of them, and the pattern
    matches them up. The projections act on the last axis only, so the same code serves padded (B, T, D) and packed
    (N, D) input.
    """

    def __init__(self, spec: StackSpec, cross: bool = False) -> None:
        super().__init__()
        d_model, heads, shared, bias = spec.d_model, spec.n_heads, spec.n_kv_heads or spec.n_heads, spec.attention_bias
        self.k_width, self.v_width, self.cross = spec.k_width, spec.v_width, cross
        self.w_q = nn.Linear(d_model, heads * self.k_width, bias=bias)
        self.w_k = nn.Linear(d_model, shared * self.k_width, bias=bias)
        self.w_v = nn.Linear(d_model, shared * self.v_width, bias=bias)
        self.w_o = nn.Linear(heads * self.v_width, d_model, bias=bias)

    @property
    def projections(self) -> tuple[tuple[nn.Linear, ...], ...]:
        if self.cross:
            return (self.w_q,), (self.w_k, self.w_v), (self.w_o,)
        return (self.w_q, self.w_k, self.w_v), (self.w_o,)

    def keys_values(self, memory: Tensor, backend: Backend = PLAIN) -> tuple[Tensor, Tensor]:
        """Project a memory to keys and values, split into heads."""
        k, v = backend.project(memory, self.w_k, self.w_v)
        return split_heads(k, self.k_width), split_heads(v, self.v_width)

    def forward(
        self,
        x: Tensor,
        pattern: Attend,
        memory: Memory | None = None,
        rotation: Rotation | None = None,
        backend: Backend = PLAIN,
    ) -> Tensor:
        """The paper's three uses (3.2.3): self-attention in the encoder; causal self-attention in the decoder; and
        cross-attention, with queries from the decoder over the encoder's output, `memory`."""
        if self.cross:
            assert memory is not None, "cross-attention requires a memory"
            (q,) = backend.project(x, self.w_q)
            q = split_heads(q, self.k_width)
            k, v = memory if isinstance(memory, tuple) else self.keys_values(memory, backend)
        else:
            q, k, v = backend.project(x, self.w_q, self.w_k, self.w_v)
            q, k, v = split_heads(q, self.k_width), split_heads(k, self.k_width), split_heads(v, self.v_width)
            if rotation is not None:
                q, k = rotation(q), rotation(k)
        (out,) = backend.project(pattern(q, k, v).flatten(-2), self.w_o)
        return out


def split_heads(x: Tensor, width: int) -> Tensor:
    return x.unflatten(-1, (-1, width))
