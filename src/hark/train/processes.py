"""The processes that train together: one, or those that torchrun started; and how the weights are spread over them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from hark.config import Parallel
from hark.errors import UserError
from hark.train.loss import Streams


@dataclass(frozen=True)
class Processes:
    """This process among those that train together."""

    rank: int
    world: int
    device: torch.device
    local: int = 0
    """Its number on this machine."""

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes files and talks."""
        return self.rank == 0

    def total(self, *numbers: float) -> list[float]:
        """Sums over all processes of numbers that the hosts know: no GPU is waited for."""
        if self.world == 1:
            return list(numbers)
        sums = torch.tensor(numbers, dtype=torch.float64)
        dist.all_reduce(sums)
        return sums.tolist()

    def wait(self) -> None:
        if self.world > 1:
            dist.barrier()


@contextmanager
def join(device: str) -> Iterator[Processes]:
    """Join the processes that torchrun started, if it did."""
    world, rank, local = (int(os.environ.get(name, default)) for name, default in ENVIRONMENT)
    chosen = choose_device(device, local)
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    if world == 1:
        yield Processes(0, 1, chosen)
        return
    backend = "cpu:gloo,cuda:nccl" if chosen.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=meeting_place(), rank=rank, world_size=world)
    try:
        yield Processes(rank, world, chosen, local)
    finally:
        dist.destroy_process_group()


def meeting_place() -> Any:
    """The store through which processes find each other.

    torchrun keeps it when it starts failed workers again, and with it the addresses of the dead: the living would call
    them. So each start on one machine has names of its own. On several machines the counts of starts differ;
    docs/scaling.md says what to set there.
    """
    store, _, _ = next(iter(dist.rendezvous("env://")))  # type: ignore[attr-defined]
    if os.environ.get("LOCAL_WORLD_SIZE") != os.environ["WORLD_SIZE"]:
        return store
    return dist.PrefixStore(  # type: ignore[attr-defined]
        "start-" + os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"), store
    )


ENVIRONMENT = (("WORLD_SIZE", "1"), ("RANK", "0"), ("LOCAL_RANK", "0"))


def choose_device(wanted: str, local: int) -> torch.device:
    """The device that a setting names; several processes on a machine take a GPU each."""
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if wanted == "auto":
        wanted = "cuda" if count else "cpu"
    if wanted == "cpu":
        return torch.device("cpu")
    name, _, number = wanted.partition(":")
    if name != "cuda" or not (number.isdigit() or not number):
        raise UserError(f"train.device: {wanted!r} is not allowed; must be auto, cpu, cuda or cuda:N")
    index = int(number) if number else local
    if index >= count:
        there = f"there are {count}" if count else "there is none"
        raise UserError(f"train.device: {wanted}: no GPU number {index} ({there}); set train.device=auto or cpu")
    return torch.device("cuda", index)


class Replicas:
    """A module spread over the processes: whole on each (ddp), in shares (fsdp), or alone."""

    def __init__(self, module: nn.Module, processes: Processes, parallel: Parallel) -> None:
        self.world = processes.world
        self.sharded = self.world > 1 and parallel == "fsdp"
        self.module: nn.Module = module
        if self.sharded:
            shard(module)
        elif self.world > 1:
            ids = [processes.device] if processes.device.type == "cuda" else None
            self.module = nn.parallel.DistributedDataParallel(module, device_ids=ids, gradient_as_bucket_view=True)

    def __call__(self, batch: Streams) -> tuple[Tensor, Tensor]:
        return self.module(batch)

    @contextmanager
    def step(self, last: bool) -> Iterator[None]:
        """Gradients are exchanged at the last batch of a step only."""
        if self.sharded:
            self.module.set_requires_gradient_sync(last)  # type: ignore[operator]
        with self.module.no_sync() if not last and hasattr(self.module, "no_sync") else nullcontext():  # type: ignore[operator]
            yield


def shard(module: Any) -> None:
    """FSDP2: every layer is gathered when it is needed; so is what is left."""
    from torch.distributed.fsdp import fully_shard

    for stack in (module.model.encoder, module.model.decoder):
        for layer in stack.layers:
            fully_shard(layer)
    # Not even the outermost part stays gathered after a forward pass, so that the weights are always found in shares.
    fully_shard(module, reshard_after_forward=True)
