"""Logging of training steps: loss, throughput and GPU utilisation."""

import time
from collections.abc import Mapping

import torch
from torch import Tensor

from hark.train.job import TrainingJob
from hark.train.records import TrainRecord
from hark.train.schedule import learning_rate

PEAK_FLOPS = {"H100": 990e12, "H200": 990e12, "A100": 312e12}
"""Dense bfloat16 operations per second, by a part of the name of the GPU."""


def log_step(job: TrainingJob, norm: Tensor) -> None:
    """Log the steps since the last record. This waits for the device, as `bad_steps` does."""
    progress, meter, on_gpu = job.progress, job.meter, job.processes.device.type == "cuda"
    loss, nll, fill, shares = meter.read(job.processes)
    throughput = meter.throughput(progress.target_tokens)
    record = TrainRecord(
        step=progress.step,
        epoch=progress.step * job.config.train.batches_per_step / job.batches.batches_per_epoch,
        loss=loss,
        nll=nll,
        rate=learning_rate(progress.step, job.config),
        grad_norm=norm.item(),
        target_tokens=progress.target_tokens,
        tokens_per_second=throughput,
        fill=fill,
        seconds=progress.seconds,
        time=time.time(),
        memory_gib=torch.cuda.max_memory_allocated() / 2**30 if on_gpu else None,
        utilisation=utilisation(job, throughput, shares) if on_gpu else None,
        skipped=int(job.optimiser.skipped.item()),
        skipped_pairs=progress.skipped_pairs,
    )
    meter.clear(progress.target_tokens)
    job.record(record)


def utilisation(job: TrainingJob, throughput: float, shares: Mapping[str, float]) -> float | None:
    """Model FLOPs utilisation: the share of peak throughput, at 6 operations per weight and token. `shares`: the tokens
    of each stream per predicted token."""
    name = torch.cuda.get_device_name()
    peak = next((flops for chip, flops in PEAK_FLOPS.items() if chip in name), None)
    if peak is None:
        return None
    model = job.model
    weights = {name: sum(weight.numel() for weight in stack.parameters()) for name, stack in model.stacks.items()}
    read = sum(weights[stack] * shares[stream] for stream, stack in model.reads.items())
    flops_per_target_token = 6 * (read + model.output_weight.numel())
    return throughput * flops_per_target_token / (peak * job.processes.world)
