"""Accuracy of our kernels on a GPU in bfloat16: their errors and PyTorch's against float64.

python -m tests.gpu.test_kernel_accuracy        prints them; requires a GPU; takes seconds

Other tests run the kernels in Triton's interpreter in float32; only a GPU shows how the compiled kernels behave in the
precision of training. Random inputs are rounded to bfloat16 and passed to three implementations: our kernel and
PyTorch's operation in bfloat16, and PyTorch's in float64. An error is the norm of the difference of an output or a
gradient, over the norm of the exact one. PyTorch computes some of them in float32 internally, some not; our error must
not exceed 1.5 times PyTorch's, or the rounding of bfloat16 (0.4%), whichever is larger.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from hark.config import Activation, ModelConfig
from hark.model.backends import activated
from hark.model.kernels import WIDTHS
from hark.model.patterns import Observed, Packed, Pattern
from hark.model.positions import DistanceBias, build_positions
from hark.model.spec import stacks_of
from hark.text.tokenizer import SPECIAL
from tests.gpu import NEEDS_GPU

pytestmark = NEEDS_GPU

LENGTHS = (1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 200, 255, 256, 257, 511, 512, 1023, 1024, 4096)
ACTIVATIONS: tuple[Activation | None, ...] = (None, "relu", "gelu", "gelu_tanh", "swiglu")
ROUNDING = 2**-8
Function = Callable[..., Tensor]


def run(values: Sequence[Tensor], upstream: Tensor, function: Function, dtype: torch.dtype) -> list[Tensor]:
    """Return the output and the gradients of all inputs."""
    inputs = [each.detach().to(dtype).requires_grad_() for each in values]
    out = function(*inputs)
    return [out, *torch.autograd.grad(out, inputs, upstream.to(out.dtype))]


def relative(mine: Tensor, exact: Tensor) -> float:
    return float((mine.detach().double() - exact.detach()).norm() / exact.detach().norm())


def rounded(*shape: int) -> Tensor:
    return torch.randn(shape, device="cuda").bfloat16()


def compare(name: str, values: Sequence[Tensor], shape: Sequence[int], ours: Function, plain: Function) -> bool:
    """Print the errors of both implementations, and return whether ours is as good."""
    upstream = rounded(*shape)
    exact = run(values, upstream, plain, torch.float64)
    mine, theirs = (run(values, upstream, function, torch.bfloat16) for function in (ours, plain))
    errors = [(relative(a, true), relative(b, true)) for a, b, true in zip(mine, theirs, exact, strict=True)]
    good = all(a <= max(1.5 * b, ROUNDING) for a, b in errors)
    shown = "  ".join(f"{a:.1e} / {b:.1e}" for a, b in errors)
    print(f"{name:<44} {'' if good else 'WORSE: '}{shown}", flush=True)
    return good


def apply(function: type[torch.autograd.Function], *inputs: Any) -> Tensor:
    """Call an autograd function, whose return type PyTorch does not declare."""
    out: Tensor = function.apply(*inputs)  # type: ignore[no-untyped-call]
    return out


def check_attention(width: int, causal: bool, cross: bool, heads: int = 4) -> bool:
    lengths = torch.tensor(LENGTHS, device="cuda")
    others = lengths.flip(0) if cross else lengths
    cu, other_cu = (F.pad(each.cumsum(0), (1, 0)).int() for each in (lengths, others))
    n = int(lengths.sum())
    plain = Packed(cu, other_cu, max(LENGTHS), causal)
    fast, explicit = plain.with_ranges(n, n), Observed(plain, lambda _: None)
    kind = "cross" if cross else "causal" if causal else "self"
    values = [rounded(n, heads, width), rounded(n, 2, heads, width)] if cross else [rounded(n, 3, heads, width)]

    def over(pattern: Pattern, *tensors: Tensor) -> Tensor:
        """Call with adjacent tensors, as projections write them: all three, or keys and values."""
        return pattern(*(tensors[:1] if cross else ()), *tensors[-1].unbind(1))

    ours, theirs = partial(over, fast), partial(over, explicit)
    return compare(f"attention, {kind}, width {width}", values, (n, heads, width), ours, theirs)


def check_bias(causal: bool, heads: int = 4, width: int = 64) -> bool:
    """A bias by distance, as T5 has it, with its gradient."""
    lengths = torch.tensor(LENGTHS, device="cuda")
    cu, n, longest = F.pad(lengths.cumsum(0), (1, 0)).int(), int(lengths.sum()), max(LENGTHS)
    module = build_positions(
        replace(stacks_of(ModelConfig(positions="relative", n_heads=heads))["encoder"], causal=causal)
    )
    module = module.cuda()
    values = [rounded(n, 3, heads, width), rounded(*next(module.parameters()).shape)]

    def over(qkv: Tensor, weight: Tensor, fused: bool) -> Tensor:
        steps = DistanceBias(F.embedding(module.bucket_B, weight).T, module.step_D)
        plain = Packed(cu, cu, longest, causal)
        pattern = (
            plain.with_ranges(n, n, steps)
            if fused
            else Observed(replace(plain, bias_HTS=steps.table(longest)), lambda _: None)
        )
        return pattern(*qkv.unbind(1))

    ours, theirs = partial(over, fused=True), partial(over, fused=False)
    return compare(f"attention, biased, {'causal' if causal else 'self'}", values, (n, heads, width), ours, theirs)


def check_norm(n: int, width: int, rms: bool = False) -> bool:
    from hark.model.kernels.norm import AddNorm

    seed = torch.tensor([7], device="cuda")
    values = [rounded(n, width), rounded(n, width), 1 + rounded(width) / 8]
    if rms:
        return compare(
            f"residual and RMSNorm, {n:,} x {width}", values, (n, width),
            lambda x, s, weight: apply(AddNorm, x, s, weight.float(), None, seed, 0.0, 1e-5),
            lambda x, s, weight: F.rms_norm(x + s, (width,), weight, 1e-5),
        )  # fmt: skip
    return compare(
        f"residual and norm, {n:,} x {width}", [*values, rounded(width) / 8], (n, width),
        lambda x, s, weight, bias: apply(AddNorm, x, s, weight.float(), bias.float(), seed, 0.0, 1e-5),
        lambda x, s, weight, bias: F.layer_norm(x + s, (width,), weight, bias, 1e-5),
    )  # fmt: skip


def check_product(n: int, inner: int, width: int, activation: Activation | None) -> bool:
    from hark.model.kernels.linear import Product

    values = [rounded(n, inner), rounded(width, inner) * inner**-0.5, rounded(width) / 8]

    def ours(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        # The gradients are those of the float32 weights, not of their 16-bit copies.
        return apply(Product, x, weight.detach(), bias.detach(), activation, weight, bias)[0]

    def plain(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        out = F.linear(x, weight, bias)
        return activated(activation, *out.chunk(2, -1) if activation == "swiglu" else (out,))[0]

    name, narrowed = f"product, {activation or 'no activation'}", 2 if activation == "swiglu" else 1
    return compare(f"{name}, {n:,} x {inner} to {width}", values, (n, width // narrowed), ours, plain)


def check_loss(n: int, width: int, vocabulary: int) -> bool:
    from hark.train.fused_loss import projected_loss
    from hark.train.loss import smoothed_loss

    labels = torch.randint(1, vocabulary, (n,), device="cuda")
    labels[::7] = SPECIAL.pad
    values = [rounded(n, width), rounded(vocabulary, width) * width**-0.5]
    return compare(
        f"projection and loss, {n:,} x {width} to {vocabulary:,}", values, (),
        lambda hidden, weight: projected_loss(hidden, weight, labels, 0.1, SPECIAL.pad)[0],
        lambda hidden, weight: smoothed_loss(F.linear(hidden, weight), labels, 0.1, SPECIAL.pad)[0],
    )  # fmt: skip


def measure() -> list[bool]:
    """Print all errors; return of each kernel and size whether it is as accurate as PyTorch's operation."""
    torch.manual_seed(1)
    print(f"{torch.cuda.get_device_name()}; torch {torch.__version__}")
    print("relative errors, ours / PyTorch's in bfloat16: the output, then each gradient")
    results = [
        check_attention(width, causal, cross)
        for width in WIDTHS
        for causal, cross in ((False, False), (True, False), (False, True))
    ]
    results += [check_bias(causal) for causal in (False, True)]
    sizes = ((1, 512), (25_601, 512), (8_000, 1024), (3_000, 384))
    results += [check_norm(n, width, rms) for rms in (False, True) for n, width in sizes]
    results += [
        check_product(n, inner, width, activation)
        for n, inner, width in ((25_600, 512, 2048), (25_600, 2048, 512), (777, 384, 1152))
        for activation in ACTIVATIONS
    ]
    results += [
        check_loss(n, width, vocabulary)
        for n, width, vocabulary in ((20_000, 512, 37_000), (8_000, 768, 50_257), (500, 256, 8_003))
    ]
    print("all as accurate as PyTorch" if all(results) else f"{results.count(False)} are worse")
    return results


def test_our_kernels_are_as_accurate_as_pytorch() -> None:
    assert all(measure())


if __name__ == "__main__":
    measure()
