"""Logging of training steps: loss, throughput and GPU utilisation; stops a run after too many non-finite steps."""

import time
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from hark.errors import HarkError
from hark.train.job import LoadedBatch, TrainingJob
from hark.train.records import TrainRecord
from hark.train.schedule import learning_rate

PEAK_FLOPS = {"H100": 990e12, "H200": 990e12, "A100": 312e12}
"""Dense bfloat16 operations per second, by a part of the name of the GPU."""


class DivergedError(HarkError):
    """Training met too many non-finite losses or gradients in a row."""


def log_step(job: TrainingJob, norm: Tensor, batches: Sequence[LoadedBatch]) -> None:
    """Log the steps since the last record. Only here does the loop wait for the device."""
    progress, meter, on_gpu = job.progress, job.meter, job.processes.device.type == "cuda"
    loss, nll, fill, source_share = meter.read(job.processes)
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
        utilisation=utilisation(job, throughput, source_share) if on_gpu else None,
        skipped=int(job.optimiser.skipped.item()),
        skipped_pairs=progress.skipped_pairs,
    )
    meter.clear(progress.target_tokens)
    job.record(record)
    if job.optimiser.bad_in_a_row.item() >= job.config.train.max_bad_steps:
        stop_on_non_finite(job, batches)


def utilisation(job: TrainingJob, throughput: float, source_share: float) -> float | None:
    """Model FLOPs utilisation: the share of peak throughput, at 6 operations per weight and token."""
    name = torch.cuda.get_device_name()
    peak = next((flops for chip, flops in PEAK_FLOPS.items() if chip in name), None)
    if peak is None:
        return None
    encoder, decoder = (sum(w.numel() for w in part.parameters()) for part in (job.model.encoder, job.model.decoder))
    flops_per_target_token = 6 * (encoder * source_share + decoder + job.model.output_weight.numel())
    return throughput * flops_per_target_token / (peak * job.processes.world)


def stop_on_non_finite(job: TrainingJob, batches: Sequence[LoadedBatch]) -> None:
    """Stop after too many non-finite gradients in a row, and save the last batch for inspection."""
    if job.processes.leads:
        batch = batches[-1][0]
        arrays = {
            f"{name}.{part}": array for name, stream in batch.streams.items() for part, array in stream.arrays().items()
        }
        np.savez(job.run.offending, allow_pickle=False, pairs=batch.pairs, **arrays)
    raise DivergedError(
        f"{job.run.path}: non-finite loss or gradient {job.config.train.max_bad_steps} times in a row, "
        f"at step {job.progress.step}; the last batch is saved in {job.run.offending}; "
        "lower train.rate_scale or set train.clip_norm"
    )
