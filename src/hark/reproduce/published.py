"""The paper's tables as published (Vaswani et al., 2017, version 7 on arXiv), and how our reports write figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hark.config import Config


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [list(head), ["---"] * len(head), *(list(row) for row in rows)]
    return "".join(f"| {' | '.join(each.replace('|', chr(92) + '|') for each in line)} |\n" for line in lines)


def number(value: Any, digits: int = 1) -> str:
    """A figure, or a dash if there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def signed(value: Any) -> str:
    return "-" if value is None else f"{value:+.1f}"


def power(value: float | None) -> str:
    """`3.3·10^18`, as the paper writes training costs."""
    if value is None:
        return "-"
    digits, _, exponent = f"{value:.1e}".partition("e")
    return f"{digits}·10^{int(exponent)}"


def millions(weights: int) -> str:
    return f"{weights / 1e6:.1f}" if weights < 1e8 else f"{weights / 1e6:.0f}"


def perplexity(value: Any) -> str:
    """Perplexities of untrained models have many digits; the first few matter."""
    return (
        "-" if value is None else f"{value:.2f}" if value < 1000 else f"{value:.0f}" if value < 1e6 else f"{value:.0e}"
    )


def differences(lines: Sequence[str]) -> str:
    """The list of what differs from the paper, below a table."""
    return "What differs from the paper:\n\n" + "".join(f"- {line}\n" for line in lines)


@dataclass(frozen=True)
class PublishedSystem:
    """A row of Table 2. BLEU on newstest2014; training cost in floating-point operations."""

    name: str
    bleu_de: float | None
    bleu_fr: float | None
    flops_de: float | None = None
    flops_fr: float | None = None
    gpu_hours: float | None = None
    """Section 5.2: 12 hours (base) and 3.5 days (big) on 8 P100 GPUs."""


TABLE_2 = (
    PublishedSystem("ByteNet", 23.75, None),
    PublishedSystem("Deep-Att + PosUnk", None, 39.2, None, 1.0e20),
    PublishedSystem("GNMT + RL", 24.6, 39.92, 2.3e19, 1.4e20),
    PublishedSystem("ConvS2S", 25.16, 40.46, 9.6e18, 1.5e20),
    PublishedSystem("MoE", 26.03, 40.56, 2.0e19, 1.2e20),
    PublishedSystem("Deep-Att + PosUnk Ensemble", None, 40.4, None, 8.0e20),
    PublishedSystem("GNMT + RL Ensemble", 26.30, 41.16, 1.8e20, 1.1e21),
    PublishedSystem("ConvS2S Ensemble", 26.36, 41.29, 7.7e19, 1.2e21),
)
BASE = PublishedSystem("Transformer (base)", 27.3, 38.1, 3.3e18, 3.3e18, gpu_hours=96)
BIG = PublishedSystem("Transformer (big)", 28.4, 41.8, 2.3e19, 2.3e19, gpu_hours=672)


@dataclass(frozen=True)
class Variation:
    """A row of Table 3: what differs from the base model, and the paper's results on newstest2013."""

    name: str
    group: str
    """base, A to E, or big."""
    about: str
    perplexity: float
    bleu: float
    weights: float | None
    """In millions; None: as the base model."""
    model: Mapping[str, Any]
    label_smoothing: float = 0.1

    def apply(self, config: Config) -> Config:
        """The base model and its recipe with this variation."""
        model = replace(config.model, **self.model)
        return replace(config, model=model, train=replace(config.train, label_smoothing=self.label_smoothing))


def heads(number: int) -> dict[str, int]:
    """The same total width in another number of heads."""
    return {"n_heads": number, "d_k": 512 // number, "d_v": 512 // number}


def layers(number: int) -> dict[str, int]:
    return {"n_encoder_layers": number, "n_decoder_layers": number}


TABLE_3 = (
    Variation("base", "base", "base", 4.92, 25.8, 65, {}),
    Variation("A-1", "A", "1 head, d_k = d_v = 512", 5.29, 24.9, None, heads(1)),
    Variation("A-4", "A", "4 heads, d_k = d_v = 128", 5.00, 25.5, None, heads(4)),
    Variation("A-16", "A", "16 heads, d_k = d_v = 32", 4.91, 25.8, None, heads(16)),
    Variation("A-32", "A", "32 heads, d_k = d_v = 16", 5.01, 25.4, None, heads(32)),
    Variation("B-16", "B", "d_k = 16", 5.16, 25.1, 58, {"d_k": 16}),
    Variation("B-32", "B", "d_k = 32", 5.01, 25.4, 60, {"d_k": 32}),
    Variation("C-n2", "C", "2 layers", 6.11, 23.7, 36, layers(2)),
    Variation("C-n4", "C", "4 layers", 5.19, 25.3, 50, layers(4)),
    Variation("C-n8", "C", "8 layers", 4.88, 25.5, 80, layers(8)),
    Variation("C-256", "C", "d_model = 256, d_k = d_v = 32", 5.75, 24.5, 28, {"d_model": 256, "d_k": 32, "d_v": 32}),
    Variation(
        "C-1024", "C", "d_model = 1024, d_k = d_v = 128", 4.66, 26.0, 168, {"d_model": 1024, "d_k": 128, "d_v": 128}
    ),
    Variation("C-ff1024", "C", "d_ff = 1024", 5.12, 25.4, 53, {"d_ff": 1024}),
    Variation("C-ff4096", "C", "d_ff = 4096", 4.75, 26.2, 90, {"d_ff": 4096}),
    Variation("D-drop0", "D", "no dropout", 5.77, 24.6, None, {"dropout": 0.0}),
    Variation("D-drop2", "D", "dropout 0.2", 4.95, 25.5, None, {"dropout": 0.2}),
    Variation("D-ls0", "D", "no label smoothing", 4.67, 25.3, None, {}, label_smoothing=0.0),
    Variation("D-ls2", "D", "label smoothing 0.2", 5.47, 25.7, None, {}, label_smoothing=0.2),
    Variation("E", "E", "learned positional embeddings", 4.92, 25.7, None, {"positions": "learned"}),
    Variation(
        "big",
        "big",
        "big: d_model = 1024, d_ff = 4096, 16 heads",
        4.33,
        26.4,
        213,
        {"d_model": 1024, "d_ff": 4096, "n_heads": 16, "d_k": 64, "d_v": 64, "dropout": 0.3},
    ),
)


@dataclass(frozen=True)
class LayerCosts:
    """A row of Table 1."""

    complexity: str
    sequential: str
    path: str


TABLE_1 = {
    "self-attention": LayerCosts("O(n² · d)", "O(1)", "O(1)"),
    "recurrent": LayerCosts("O(n · d²)", "O(n)", "O(n)"),
    "convolutional": LayerCosts("O(k · n · d²)", "O(1)", "O(log_k(n))"),
    "restricted self-attention": LayerCosts("O(r · n · d)", "O(1)", "O(n / r)"),
}


@dataclass(frozen=True)
class PublishedParser:
    """A row of Table 4: labelled F1 on section 23 of the WSJ treebank."""

    name: str
    training: str
    f1: float


TABLE_4 = (
    PublishedParser("Vinyals & Kaiser et al. (2014)", "WSJ only", 88.3),
    PublishedParser("Petrov et al. (2006)", "WSJ only", 90.4),
    PublishedParser("Zhu et al. (2013)", "WSJ only", 90.4),
    PublishedParser("Dyer et al. (2016)", "WSJ only", 91.7),
    PublishedParser("Transformer (4 layers), paper", "WSJ only", 91.3),
    PublishedParser("Zhu et al. (2013)", "semi-supervised", 91.3),
    PublishedParser("Huang & Harper (2009)", "semi-supervised", 91.3),
    PublishedParser("McClosky et al. (2006)", "semi-supervised", 92.1),
    PublishedParser("Vinyals & Kaiser et al. (2014)", "semi-supervised", 92.1),
    PublishedParser("Transformer (4 layers), paper", "semi-supervised", 92.7),
    PublishedParser("Luong et al. (2015)", "multi-task", 93.0),
    PublishedParser("Dyer et al. (2016)", "generative", 93.3),
)
PUBLIC_PARSER = PublishedParser(
    "benepar_en3_wsj (Kitaev et al., 2019; BERT-large)", "WSJ only, pre-trained encoder", 95.55
)
"""What a public parser reports on the same test set, in the README of github.com/nikitakit/self-attentive-parser."""
