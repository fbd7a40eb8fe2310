"""Train a tiny Transformer to reverse words, and show its attention.

The whole paper in miniature: the model of section 3, the schedule of 5.3, label smoothing (5.4), greedy search, and an
attention map. Takes less than a minute on two cores.
"""

import random
import string

import torch
import torch.nn.functional as F
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor

from hark.config import ModelConfig
from hark.model import Layout, Transformer, packed_layout
from hark.model.patterns import packed_positions

START, END = 0, 1
LETTERS = string.ascii_lowercase
CONFIG = ModelConfig(
    d_model=96, d_ff=384, n_heads=4, n_encoder_layers=1, n_decoder_layers=1, dropout=0.0, vocab_size=2 + len(LETTERS)
)
STEPS, WARMUP, WORDS, LONGEST, TESTED = 800, 100, 64, 12, 200
SHADES = " ░▒▓█"


def tokens(word: str) -> list[int]:
    return [LETTERS.index(letter) + 2 for letter in word]


def text(ids: list[int]) -> str:
    return "".join(LETTERS[each - 2] for each in ids if each >= 2)


def random_word() -> str:
    return "".join(random.choices(LETTERS, k=random.randint(2, LONGEST)))


def pack(sequences: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Concatenate sequences without padding; return the tokens and the cumulative lengths."""
    lengths = torch.tensor([0, *map(len, sequences)])
    return torch.tensor([each for sequence in sequences for each in sequence]), lengths.cumsum(0).int()


def layout_of(sources: list[list[int]], targets: list[list[int]]) -> tuple[Tensor, Tensor, Layout]:
    source_N, source_cu = pack(sources)
    target_N, target_cu = pack(targets)
    positions = (packed_positions(cu, len(tokens_N)) for cu, tokens_N in ((source_cu, source_N), (target_cu, target_N)))
    return source_N, target_N, packed_layout(source_cu, target_cu, *positions, LONGEST + 1)


def train_step(model: Transformer) -> Tensor:
    words = [tokens(random_word()) for _ in range(WORDS)]
    source_N, target_N, layout = layout_of([[*word, END] for word in words], [[START, *word[::-1]] for word in words])
    expected_N, _ = pack([[*word[::-1], END] for word in words])
    return F.cross_entropy(model(source_N, target_N, layout), expected_N, label_smoothing=0.1)


def train(model: Transformer, console: Console) -> None:
    optimiser = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    columns = (TextColumn("learning"), BarColumn(), MofNCompleteColumn(), TextColumn("loss {task.fields[loss]:.3f}"))
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task("learning", total=STEPS, loss=float("nan"))
        for step in range(1, STEPS + 1):
            rate = CONFIG.d_model**-0.5 * min(step**-0.5, step * WARMUP**-1.5)  # paper, equation 3
            for group in optimiser.param_groups:
                group["lr"] = rate
            loss = train_step(model)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            progress.update(task, advance=1, loss=loss.item())
            if not console.is_terminal and step % 100 == 0:
                console.print(f"step {step:4d} of {STEPS}   loss {loss.item():.3f}")


@torch.no_grad()
def reverse(model: Transformer, word: str) -> tuple[str, Tensor]:
    """Reverse a word by greedy search; return the output and the mean cross-attention of the last layer."""
    source, output, weights = [*tokens(word), END], [START], []
    for _ in range(LONGEST + 1):
        source_N, target_N, layout = layout_of([source], [output])
        weights.clear()
        logits_NV = model(source_N, target_N, layout.observed({"cross": weights.append}))
        output.append(int(logits_NV[-1].argmax()))
        if output[-1] == END:
            break
    return text(output), weights[-1].mean(0)


def show_attention(word: str, output: str, weights_TS: Tensor, console: Console) -> None:
    """Print a row per output letter, with a column per input letter."""
    console.print("\nAttention (a row per output letter, a column per input letter):\n")
    console.print("      " + "  ".join([*word, "·"]), highlight=False)
    for letter, row in zip([*output, "·"], weights_TS.tolist(), strict=False):
        cells = "".join(SHADES[min(4, int(weight * 5))] * 2 + " " for weight in row)
        console.print(f"   {letter}  {cells}", highlight=False)


def main() -> None:
    random.seed(1)
    torch.manual_seed(1)
    console = Console(highlight=False)
    model = Transformer(CONFIG)
    n_weights = sum(weight.numel() for weight in model.parameters())
    console.print(f"A Transformer of {n_weights:,} weights learns to reverse words, from scratch.\n")
    train(model, console)
    model.eval()

    console.print("\nUnseen words:\n")
    for word in ("attention", "transformer", "hark", "parallel", "zyxwv"):
        console.print(f"   {word:>12} -> {reverse(model, word)[0]}")
    new_words = [random_word() for _ in range(TESTED)]
    right = sum(reverse(model, word)[0] == word[::-1] for word in new_words)
    console.print(f"\n{right} of {len(new_words)} new random words reversed correctly.")
    show_attention("attention", *reverse(model, "attention"), console)


if __name__ == "__main__":
    main()
