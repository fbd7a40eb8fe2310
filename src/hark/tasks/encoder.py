"""An encoder alone, loaded from a bundle: texts in, hidden states out, in batches of texts of similar length."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, TypeVar

import torch
from torch import Tensor

from hark import configfile
from hark.bundle import CONFIG, Bundle, read_facts
from hark.data.permuting import CONTEXT
from hark.engine.opening import torch_device
from hark.errors import UserError
from hark.model.patterns import packed_positions
from hark.model.weights import load_one_stack
from hark.models import list_models, named_folder
from hark.text.opening import open_vocabularies

BATCH_TOKENS = 8_192
WINDOW = 4_096
"""Texts that are sorted by length together. Their results are returned before the next ones are read."""
Result = TypeVar("Result")


class LoadedEncoder:
    """A model, its vocabulary, and its device."""

    def __init__(self, folder: Path | str, device: str = "auto", threads: int | None = None) -> None:
        self.bundle = Bundle.open(folder)
        if self.bundle.config.model.shape != "encoder":
            raise UserError(f"{folder}: is not an encoder alone: it {self.bundle.purpose}")
        self.vocabulary = open_vocabularies(self.bundle)[1]
        self.device = torch_device(device)
        if threads and self.device == "cpu":
            torch.set_num_threads(threads)
        self.model = load_one_stack(self.bundle, self.device)

    @property
    def width(self) -> int:
        return self.bundle.config.model.d_model

    @property
    def longest(self) -> int:
        """The most tokens that a text may have."""
        return self.bundle.config.model.max_positions - 2

    def enclose(self, ids: Sequence[int], number: int, truncate: bool | None = None) -> list[int]:
        """The input of an encoded text between start and end. A text with too many tokens is an error that names its
        `number`, or is cut at the end with `truncate`; None: that is no option."""
        longest = self.longest
        if len(ids) > longest and not truncate:
            raise UserError(
                f"text {number} has {len(ids):,} tokens, but {self.bundle.folder} reads at most {longest:,}; split it"
                + ("" if truncate is None else ", or cut it with --truncate")
            )
        return self.vocabulary.enclose(ids[:longest])

    def run(
        self, inputs: Iterable[Sequence[int]], finish: Callable[[Tensor, Tensor, Tensor], Sequence[Result]]
    ) -> Iterator[Result]:
        """Yield a result for each input, in their order. `finish` makes those of a batch from its hidden states, its
        tokens and the lengths of its texts, which are packed end to end."""
        arriving = iter(inputs)
        while window := list(islice(arriving, WINDOW)):
            results: dict[int, Result] = {}
            for batch in batches([len(each) for each in window]):
                with torch.inference_mode():
                    made = finish(*self.states([window[place] for place in batch]))
                results.update(zip(batch, made, strict=True))
            yield from (results[place] for place in range(len(window)))

    def states(self, inputs: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor, Tensor]:
        """Hidden states, tokens and lengths of a batch."""
        lengths_B = torch.tensor([len(each) for each in inputs], device=self.device)
        tokens_N = torch.tensor([token for each in inputs for token in each], device=self.device)
        cu = torch.cat([lengths_B.new_zeros(1), lengths_B.cumsum(0)]).int()
        positions = {"target": packed_positions(cu, len(tokens_N))}
        layout = self.model.packed_layout({"target": cu}, positions, max(map(len, inputs)))
        if self.bundle.config.batches.any_order and (mask := self.vocabulary.mask) is not None:
            # As in training, a mask asks for the token of its place, and nobody sees it.
            ranks_N = torch.where(tokens_N == mask, CONTEXT + 1, CONTEXT)
            layout = layout.permuted("target", self.model.name, ranks_N)
        return self.model.states(tokens_N, layout), tokens_N, lengths_B


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of texts, longest first, with at most `BATCH_TOKENS` tokens together."""
    batch: list[int] = []
    tokens = 0
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if batch and tokens + lengths[place] > BATCH_TOKENS:
            yield batch
            batch, tokens = [], 0
        batch.append(place)
        tokens += lengths[place]
    if batch:
        yield batch


Ability = Literal["embed", "fill", "classify"]


def find_encoder(name: str | None, ability: Ability = "embed") -> Path:
    """The folder of the named model, or of the first installed encoder that fills gaps or classifies, if it must."""
    if name is not None:
        return named_folder(name)
    for each in list_models():
        if not each.pairs and not each.problem:
            bundle = Bundle(each.folder, configfile.load(each.folder / CONFIG), read_facts(each.folder))
            model = bundle.config.model
            able = {"embed": True, "fill": not bundle.silence, "classify": model.labels is not None}
            if model.shape == "encoder" and able[ability]:
                return each.folder
    if ability == "classify":
        raise UserError("no such model installed; name one with -m, or train one with hark train classify")
    example = "bert-base-uncased" if ability == "fill" else "all-MiniLM-L6-v2"
    raise UserError(f"no such model installed; name one with -m, or get one with hark models get {example}")
