"""How exact our kernels are on a real GPU in bfloat16, beside PyTorch's own: the errors of both against float64.

python -m benchmarks.kernel_accuracy        wants a GPU; some seconds. Exit code 1 where a kernel of ours is worse.

Tests run the kernels through Triton's interpreter in float32; what the compiler and the chip make of them, in the
precision that training uses, only a GPU can say. Inputs are drawn anew, rounded to bfloat16, and given to three twins:
our kernel and PyTorch's operation in bfloat16, and PyTorch's in float64. An error is the norm of the difference, of an
output or a gradient, over the norm of the exact one. PyTorch computes some of them in float32 inside, some not; ours
must not err more than half as much again, nor than a bfloat16's own rounding (0.4%).
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from hark.model.kernels import WIDTHS
from hark.model.patterns import Observed, Packed, Pattern
from hark.text.tokenizer import SPECIAL

LENGTHS = (1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 200, 255, 256, 257, 511, 512)
ROUNDING = 2**-8
Twin = Callable[..., Tensor]


def errors(
    given: Sequence[Tensor], upstream: Tensor, twin: Twin, exact: Sequence[Tensor], dtype: torch.dtype
) -> list[float]:
    return [relative(mine, true) for mine, true in zip(run(given, upstream, twin, dtype), exact, strict=True)]


def run(given: Sequence[Tensor], upstream: Tensor, twin: Twin, dtype: torch.dtype) -> list[Tensor]:
    """The output, and the gradients of all inputs."""
    inputs = [each.detach().to(dtype).requires_grad_() for each in given]
    out = twin(*inputs)
    return [out, *torch.autograd.grad(out, inputs, upstream.to(out.dtype))]


def relative(mine: Tensor, exact: Tensor) -> float:
    return float((mine.detach().double() - exact.detach()).norm() / exact.detach().norm())


def rounded(*shape: int) -> Tensor:
    return torch.randn(shape, device="cuda").bfloat16()


def compare(name: str, given: Sequence[Tensor], shape: Sequence[int], ours: Twin, plain: Twin) -> bool:
    """Print the largest errors of both twins; whether ours is as good."""
    upstream = rounded(*shape)
    exact = run(given, upstream, plain, torch.float64)
    mine = errors(given, upstream, ours, exact, torch.bfloat16)
    theirs = errors(given, upstream, plain, exact, torch.bfloat16)
    good = all(a <= max(1.5 * b, ROUNDING) for a, b in zip(mine, theirs, strict=True))
    shown = "  ".join(f"{a:.1e} / {b:.1e}" for a, b in zip(mine, theirs, strict=True))
    print(f"{name:<44} {'' if good else 'WORSE: '}{shown}", flush=True)
    return good


def apply(function: type[torch.autograd.Function], *inputs: Any) -> Tensor:
    """PyTorch does not say what it returns."""
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
    given = [rounded(n, heads, width), rounded(n, 2, heads, width)] if cross else [rounded(n, 3, heads, width)]

    def over(pattern: Pattern, *tensors: Tensor) -> Tensor:
        """As projections make them: all three side by side, or keys and values."""
        return pattern(*(tensors[:1] if cross else ()), *tensors[-1].unbind(1))

    ours, theirs = partial(over, fast), partial(over, explicit)
    return compare(f"attention, {kind}, width {width}", given, (n, heads, width), ours, theirs)


def check_norm(n: int, width: int) -> bool:
    from hark.model.kernels.norm import AddNorm

    seed = torch.tensor([7], device="cuda")
    given = [rounded(n, width), rounded(n, width), 1 + rounded(width) / 8, rounded(width) / 8]
    return compare(
        f"residual and norm, {n:,} x {width}",
        given,
        (n, width),
        lambda x, s, weight, bias: apply(AddNorm, x, s, weight.float(), bias.float(), seed, 0.0, 1e-5),
        lambda x, s, weight, bias: F.layer_norm(x + s, (width,), weight, bias, 1e-5),
    )


def check_product(n: int, inner: int, width: int, relu: bool) -> bool:
    from hark.model.kernels.linear import Product

    given = [rounded(n, inner), rounded(width, inner) * inner**-0.5, rounded(width) / 8]

    def ours(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        # The gradients are for the wide weights, of which the 16-bit ones are copies.
        return apply(Product, x, weight.detach(), bias.detach(), relu, weight, bias)[0]

    def plain(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.relu(F.linear(x, weight, bias)) if relu else F.linear(x, weight, bias)

    return compare(f"product{', ReLU' if relu else ''}, {n:,} x {inner} to {width}", given, (n, width), ours, plain)


def check_loss(n: int, width: int, vocabulary: int) -> bool:
    from hark.train.fused_loss import projected_loss
    from hark.train.loss import smoothed_loss

    labels = torch.randint(1, vocabulary, (n,), device="cuda")
    labels[::7] = SPECIAL.pad
    given = [rounded(n, width), rounded(vocabulary, width) * width**-0.5]
    return compare(
        f"projection and loss, {n:,} x {width} to {vocabulary:,}",
        given,
        (),
        lambda hidden, weight: projected_loss(hidden, weight, labels, 0.1, SPECIAL.pad)[0],
        lambda hidden, weight: smoothed_loss(F.linear(hidden, weight), labels, 0.1, SPECIAL.pad)[0],
    )


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    torch.manual_seed(1)
    print(f"{torch.cuda.get_device_name()}; torch {torch.__version__}")
    print("relative errors, ours / PyTorch's in bfloat16: the output, then each gradient")
    found = [
        check_attention(width, causal, cross)
        for width in WIDTHS
        for causal, cross in ((False, False), (True, False), (False, True))
    ]
    found += [check_norm(n, width) for n, width in ((1, 512), (25_601, 512), (8_000, 1024), (3_000, 384))]
    found += [
        check_product(n, inner, width, relu)
        for n, inner, width in ((25_600, 512, 2048), (25_600, 2048, 512), (25_600, 512, 1536), (777, 384, 1152))
        for relu in (False, True)
    ]
    found += [check_loss(n, width, vocabulary) for n, width, vocabulary in ((20_000, 512, 37_000), (500, 256, 8_003))]
    print("all as exact as PyTorch's own" if all(found) else f"{found.count(False)} are worse")
    sys.exit(0 if all(found) else 1)


if __name__ == "__main__":
    main()
