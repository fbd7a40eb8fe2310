"""The processes of a run (one, or those started by torchrun), and data parallelism over them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from hark.config import Parallel
from hark.errors import UserError


@dataclass(frozen=True)
class Processes:
    """This process and the group that trains together."""

    rank: int
    world: int
    device: torch.device
    local: int = 0
    """Rank on this machine."""

    @property
    def leads(self) -> bool:
        """Whether this process writes files and log lines."""
        return self.rank == 0

    def total(self, *numbers: float) -> list[float]:
        """Sum host-side numbers over all processes, without waiting for a GPU."""
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
    """Join the process group if torchrun started this process."""
    world, rank, local = (
        int(os.environ.get(name, default)) for name, default in (("WORLD_SIZE", 1), ("RANK", 0), ("LOCAL_RANK", 0))
    )
    chosen = choose_device(device, local)
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    if world == 1:
        yield Processes(0, 1, chosen)
        return
    backend = "cpu:gloo,cuda:nccl" if chosen.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=rendezvous_store(), rank=rank, world_size=world)
    try:
        yield Processes(rank, world, chosen, local)
    finally:
        dist.destroy_process_group()


def rendezvous_store() -> Any:
    """The store through which processes find each other.

    torchrun keeps the store when it restarts failed workers, with the addresses of dead processes still in it. So on
    one machine each restart gets its own key prefix. On several machines the restart counts can differ; see
    docs/scaling.md for what to set there.
    """
    store, _, _ = next(iter(dist.rendezvous("env://")))  # type: ignore[attr-defined]
    if os.environ.get("LOCAL_WORLD_SIZE") != os.environ["WORLD_SIZE"]:
        return store
    prefix = "start-" + os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return dist.PrefixStore(prefix, store)  # type: ignore[attr-defined]


def choose_device(name: str, local: int) -> torch.device:
    """The device for a train.device setting. With several processes per machine, each takes its own GPU."""
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        name = "cuda" if count else "cpu"
    if name == "cpu":
        return torch.device("cpu")
    kind, _, number = name.partition(":")
    if kind != "cuda" or not (number.isdigit() or not number):
        raise UserError(f"train.device: {name!r} is not allowed; must be auto, cpu, cuda or cuda:N")
    index = int(number) if number else local
    if index >= count:
        available = f"{count} available" if count else "none available"
        raise UserError(f"train.device: {name}: no GPU {index} ({available}); set train.device=auto or cpu")
    return torch.device("cuda", index)


class Replicas:
    """A module distributed over the processes: replicated (ddp), sharded (fsdp), or as it is in a single process."""

    def __init__(self, module: nn.Module, processes: Processes, parallel: Parallel) -> None:
        self.world = processes.world
        self.sharded = self.world > 1 and parallel == "fsdp"
        self.module: nn.Module = module
        if self.sharded:
            shard(module)
        elif self.world > 1:
            ids = [processes.device] if processes.device.type == "cuda" else None
            self.module = nn.parallel.DistributedDataParallel(module, device_ids=ids, gradient_as_bucket_view=True)

    @contextmanager
    def step(self, last: bool) -> Iterator[None]:
        """Exchange gradients only at the last batch of a step."""
        if self.sharded:
            self.module.set_requires_gradient_sync(last)  # type: ignore[operator]
        with self.module.no_sync() if not last and hasattr(self.module, "no_sync") else nullcontext():  # type: ignore[operator]
            yield


def shard(module: Any) -> None:
    """Shard with FSDP2: each layer, and then the rest of the module, is gathered when it is needed."""
    from torch.distributed.fsdp import fully_shard

    for stack in module.model.stacks.values():
        for layer in stack.layers:
            fully_shard(layer)
    # Reshard the root module after the forward pass too, so that the weights are always sharded outside of it.
    fully_shard(module, reshard_after_forward=True)
