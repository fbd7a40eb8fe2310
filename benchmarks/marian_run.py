"""Marian trained on a prepared dataset, for so many minutes at a time, and measured as ours is.

A folder holds `config.toml` and `variant` (how it is trained), `rows.jsonl` (what was measured), `state/` (weights,
Adam's state, place in the data: a checkpoint in our format, without pickle), and `minute-M/` for each minute whose
weights were asked for: a bundle of ours, in bfloat16, so that the same engine translates with both systems' weights.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from gradient_check import agreement
from marian_weights import to_ours, to_theirs
from peers import VARIANTS, Marian, Padded, Training
from quality_curves import ROWS, Row, read_lines, write_lines
from torch import Tensor
from torch._dynamo.utils import counters

from hark import configfile
from hark.config import Config
from hark.data.batches import Corpus, PaddedBatch, make_batches
from hark.data.dataset import Dataset
from hark.data.permutation import derive
from hark.data.prefetch import Prefetch
from hark.errors import UserError
from hark.model import Transformer
from hark.train import checkpoint
from hark.train.export import BundleWriter
from hark.train.loss import Objective, to_tensors
from hark.train.passes import autocast, why_not_recorded
from hark.train.processes import Processes
from hark.train.schedule import learning_rate

WARM, SEARCHED, QUIET = 6, 600, 200
"""Batches of each kind that are run before the clock starts, for the compiler to see; how many are looked at to find
them; and how many others in a row must leave it with nothing to do. No weight changes."""
ADAM = ("exp_avg", "exp_avg_sq", "step")

Ready = tuple[Padded, int, int]
"""A batch on the device, its real target tokens, and its number."""


class Judge:
    """Measures weights of ours on the dev sets, as `hark train` does: the same batches, kernels and precision."""

    def __init__(self, config: Config, dataset: Dataset, device: torch.device) -> None:
        self.config = replace(config, data=replace(config.data, batching="packed"))
        self.device, self.model = device, Transformer(config.model).to(device).eval()
        fused = why_not_recorded(self.config, Processes(0, 1, device)) is None
        smoothing, longest = config.train.label_smoothing, config.data.max_length
        self.objective = Objective(self.model, smoothing, longest, fused)
        stores = [(shard.name, dataset.store(shard)) for shard in dataset.shards("dev")]
        self.sets = [make_batches([Corpus(name, 1.0, [store])], self.config.data) for name, store in stores]

    @torch.no_grad()
    def measure(self, weights: Mapping[str, Tensor]) -> tuple[float, float]:
        """Loss and nll of a target token; the mean over the dev sets, where there are several."""
        for name, weight in self.model.named_parameters():
            weight.copy_(weights[name])
        means = []
        for batches in self.sets:
            sums, tokens = torch.zeros(2, dtype=torch.float64, device=self.device), 0
            for batch in islice(batches.iterate(), batches.batches_per_epoch):
                with autocast(self.config, self.device):
                    sums += torch.stack(self.objective(to_tensors(batch, self.device))).double()
                tokens += batch.n_target_tokens
            means.append(sums / tokens)
        loss, nll = torch.stack(means).mean(0).tolist()
        return loss, nll


def kind_of(batch: PaddedBatch) -> tuple[bool, bool]:
    """Whether it needs a mask, and whether its length is one to which PyTorch need not pad the mask."""
    longest = batch.source.shape[1]
    return bool((batch.source_lengths < longest).any()), longest % 8 == 0


def compiled() -> int:
    """Graphs that the compiler has built in this process."""
    return int(counters["stats"]["unique_graphs"])


@dataclass
class Progress:
    seconds: float = 0.0
    steps: int = 0
    target_tokens: int = 0


class MarianRun:
    def __init__(
        self,
        folder: Path,
        config: Config,
        dataset: Dataset,
        device: torch.device,
        variant: str,
        init: str,
        parts: Sequence[int] = (4,),
    ) -> None:
        self.folder, self.device, self.dataset, self.choices = folder, device, dataset, list(parts)
        self.config = replace(config, data=replace(config.data, batching="padded"))
        self.agree(f"{variant}, initial weights {init}, batches a step: {', '.join(map(str, parts))}")
        self.bundles = BundleWriter.of(config, dataset)
        self.judge = Judge(config, dataset, device)
        torch.manual_seed(config.train.seed)
        self.marian = Marian(config.model)
        self.training = Training(self.marian, self.config, device, VARIANTS[variant])
        if init == "ours":  # those that `hark train` begins with, given the same seed
            torch.manual_seed(config.train.seed)
            self.training.fill(to_theirs(self.marian, Transformer(config.model).state_dict()))
        self.first = {name: weight.detach().clone() for name, weight in self.training.weights.items()}
        self.built, self.told = 0, 0
        self.begin(self.choices[0])
        if self.state.exists():
            self.resume()
            self.rows = [row for row in read_lines(folder / ROWS, Row) if row.steps <= self.progress.steps]

    def begin(self, parts: int) -> None:
        """From the initial weights, with the tokens of a step in so many batches."""
        self.parts = parts
        self.training.fill(self.first)
        self.training.adam.state.clear()
        share = replace(self.config.data, batch_tokens=self.config.data.batch_tokens // parts)
        self.batches = make_batches(self.dataset.train, share)
        self.stream: Prefetch[Ready] = Prefetch(self.batches, prepare=self.ready)
        self.progress, self.rows = Progress(), list[Row]()

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def agree(self, variant: str) -> None:
        """A folder goes on only as it began."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, text in (("config.toml", configfile.dump(self.config)), ("variant", variant + "\n")):
            path = self.folder / name
            if path.exists() and path.read_text(encoding="utf-8") != text:
                raise UserError(f"{path}: was begun with other settings; go on with those, or take another folder")
            path.write_text(text, encoding="utf-8")

    def ready(self, batch: PaddedBatch) -> Ready:
        return Padded.of(batch, self.device), batch.n_target_tokens, batch.index

    def warm_up(self) -> None:
        """What `hark train` does before its own clock starts: the largest batch fits, and kernels are built."""
        # The largest comes last: its two sides are of one length, which the compiler would take for a rule.
        for batch in (*self.of_each_kind(), self.batches.worst_case()):
            self.try_out(batch)  # type: ignore[arg-type]
        quiet, place = (QUIET if self.device.type != "cuda" else 0), self.batches.batches_per_epoch
        while quiet < QUIET:
            built, place = compiled(), place + 1
            self.try_out(self.batches[place])  # type: ignore[arg-type]
            quiet = quiet + 1 if compiled() == built else 0
        self.training.optimiser.zero_grad()
        self.check()

    def check(self) -> None:
        """Whether it is Marian that is trained, with the weights of now, on the batches of a step in a later pass."""
        count = self.batches.batches_per_epoch
        sample = [self.ready(self.batches[place])[:2] for place in range(count, count + self.parts)]  # type: ignore[arg-type]
        print(agreement(self.training, Marian(self.config.model), sample), flush=True)

    def try_out(self, batch: PaddedBatch) -> None:
        padded, tokens, _ = self.ready(batch)
        self.training.backward(padded, tokens)

    def of_each_kind(self) -> list[PaddedBatch]:
        """Some batches of every kind for which the compiler builds other kernels, from a later pass over the data.

        Few source rows have padding, so that a sample of neighbours may have none: their mask would be compiled for
        when the clock runs, against Marian.
        """
        count = self.batches.batches_per_epoch
        found: dict[tuple[bool, bool], list[PaddedBatch]] = {}
        for place in range(count, 2 * count, max(1, count // SEARCHED)):
            batch = self.batches[place]
            same = found.setdefault(kind_of(batch), [])  # type: ignore[arg-type]
            if len(same) < WARM:
                same.append(batch)  # type: ignore[arg-type]
        return [batch for same in found.values() for batch in same]

    def train(
        self, minutes: float, marks: Sequence[float], keep: Sequence[float], until: float | None, trial: float = 0.0
    ) -> None:
        """For so many minutes more; measured at `marks`, in minutes since the beginning, and at the end.

        `until` is when to stop in any case, by `time.monotonic`: commands may have a limit. `trial` minutes are spent
        on each number of batches a step first, where there is a choice; they do not count.
        """
        if not self.progress.steps and len(self.choices) > 1:
            self.choose(trial)
        self.advance(minutes, marks, keep, until)
        self.save()
        self.check()

    def choose(self, minutes: float) -> None:
        """Go on with the number of batches a step that is best for Marian: each is tried from the beginning."""
        found: dict[int, float] = {}
        for parts in self.choices:
            self.begin(parts)
            self.advance(minutes, [], [], None)
            self.check()  # again: weights that do not read the source yet hide what is wrong with reading it
            found[parts] = self.rows[-1].nll
        self.begin(min(found, key=lambda parts: found[parts]))
        tried = ", ".join(f"nll {nll:.4f} with {parts} batches a step" for parts, nll in found.items())
        print(f"tried for {minutes:g} minutes: {tried}; begun again with {self.parts}", flush=True)

    def advance(self, minutes: float, marks: Sequence[float], keep: Sequence[float], until: float | None) -> None:
        begun = time.monotonic()
        self.warm_up()
        self.wait()
        self.training.losses.zero_()
        self.told = self.progress.target_tokens
        self.built = compiled()
        print(f"warmed up in {time.monotonic() - begun:.0f} s, {self.built} graphs compiled", flush=True)
        progress, end = self.progress, self.progress.seconds + 60 * minutes
        due = sorted({60 * mark for mark in (*marks, *keep) if progress.seconds < 60 * mark < end} | {end})
        began = time.monotonic() - progress.seconds
        while due:
            parts = list(islice(self.stream, self.parts))
            tokens = sum(each for _, each, _ in parts)
            # As in `hark train`: chance is a function of the batch, so that a resumed run needs no state of it.
            torch.manual_seed(int(derive(self.config.train.seed, parts[0][2])) >> 1)
            rate = learning_rate(progress.steps + 1, self.config)
            self.training.step((padded for padded, _, _ in parts), tokens, rate)
            progress.steps += 1
            progress.target_tokens += tokens
            now = time.monotonic()
            late = until is not None and now >= until
            if now - began < due[0] and not late:
                continue
            self.wait()
            progress.seconds = time.monotonic() - began
            passed = {mark for mark in due if mark <= progress.seconds}
            due = [] if late else [mark for mark in due if mark not in passed]
            self.measure()
            for mark in passed & {60 * each for each in keep}:
                self.keep(mark / 60)
            began = time.monotonic() - progress.seconds
        self.stream.close()

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def our_weights(self) -> dict[str, Tensor]:
        return to_ours(self.marian, {name: weight.detach() for name, weight in self.training.weights.items()})

    def measure(self) -> None:
        progress = self.progress
        loss, nll = self.judge.measure(self.our_weights())
        self.rows.append(Row(progress.seconds, progress.steps, progress.target_tokens, loss, nll))
        write_lines(self.folder / ROWS, self.rows)
        pace = progress.target_tokens / progress.seconds
        trained = self.training.losses.item() / max(1, progress.target_tokens - self.told)
        print(
            f"{progress.seconds / 60:.2f} minutes, step {progress.steps:,}: training loss {trained:.4f}, dev loss "
            f"{loss:.4f}, nll {nll:.4f}; {pace:,.0f} target tokens/s so far{self.late_compiling()}",
            flush=True,
        )
        self.training.losses.zero_()
        self.told = progress.target_tokens

    def late_compiling(self) -> str:
        """What the clock counts and should not, if there was any."""
        late = compiled() - self.built
        return f"; {late} graphs were compiled while the clock ran" if late else ""

    def keep(self, minute: float) -> None:
        origin = f"Hugging Face Marian after {self.progress.seconds / 60:.2f} minutes, step {self.progress.steps}"
        weights = {name: weight.bfloat16().cpu() for name, weight in self.our_weights().items()}
        self.bundles.write(self.folder / f"minute-{minute:g}", weights, origin)

    def save(self) -> None:
        adam = self.training.adam.state
        tensors = {
            "weights": {name: weight.detach().cpu() for name, weight in self.training.weights.items()},
            "adam": {
                f"{kind}.{name}": adam[weight][kind].cpu()
                for name, weight in self.training.weights.items()
                for kind in ADAM
            },
        }
        checkpoint.save(self.state, tensors, self.place())

    def place(self) -> dict[str, Any]:
        return {"parts": self.parts, "progress": asdict(self.progress), "batches": self.stream.state_dict()}

    def resume(self) -> None:
        tensors, state = checkpoint.load(self.state)
        self.begin(state["parts"])
        self.training.fill(tensors["weights"])
        # Adam is given its state as it would have made it: a step of its own would move the weights.
        for name, weight in self.training.weights.items():
            self.training.adam.state[weight] = {
                kind: tensors["adam"][f"{kind}.{name}"].to(self.device) for kind in ADAM
            }
        self.progress = Progress(**state["progress"])
        self.stream.load_state_dict(state["batches"])
