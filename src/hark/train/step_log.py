"""What a step leaves behind for people: a record of loss, pace and health, and the end of a run that went wrong."""

import time
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from hark.errors import HarkError
from hark.train.job import Taken, TrainingJob
from hark.train.records import TrainRecord
from hark.train.schedule import learning_rate

PEAK_FLOPS = {"H100": 990e12, "H200": 990e12, "A100": 312e12}
"""Dense bfloat16 operations a second of chips that are known by name."""


def log(job: TrainingJob, norm: Tensor, taken: Sequence[Taken]) -> None:
    """Record the steps since the last record. The only place where the loop waits for the device."""
    progress, meter, on_gpu = job.progress, job.meter, job.processes.device.type == "cuda"
    loss, nll, fill, source_share = meter.read(job.processes)
    pace = meter.pace(progress.target_tokens)
    record = TrainRecord(
        step=progress.step,
        epoch=progress.step * job.config.train.batches_per_step / job.batches.batches_per_epoch,
        loss=loss,
        nll=nll,
        rate=learning_rate(progress.step, job.config),
        grad_norm=norm.item(),
        target_tokens=progress.target_tokens,
        tokens_per_second=pace,
        fill=fill,
        seconds=progress.seconds,
        time=time.time(),
        memory_gib=torch.cuda.max_memory_allocated() / 2**30 if on_gpu else None,
        utilisation=utilisation(job, pace, source_share) if on_gpu else None,
        skipped=int(job.optimiser.skipped.item()),
        skipped_pairs=progress.skipped_pairs,
    )
    meter.clear(progress.target_tokens)
    job.tell(record)
    if job.optimiser.bad_in_a_row.item() >= job.config.train.max_bad_steps:
        give_up(job, taken)


def utilisation(job: TrainingJob, pace: float, source_share: float) -> float | None:
    """Share of the chips' arithmetic that goes into the model: 6 operations for a weight and token, as is usual."""
    name = torch.cuda.get_device_name()
    peak = next((flops for chip, flops in PEAK_FLOPS.items() if chip in name), None)
    if peak is None:
        return None
    encoder, decoder = (sum(w.numel() for w in part.parameters()) for part in (job.model.encoder, job.model.decoder))
    for_a_target_token = 6 * (encoder * source_share + decoder + job.model.output_weight.numel())
    return pace * for_a_target_token / (peak * job.processes.world)


def give_up(job: TrainingJob, taken: Sequence[Taken]) -> None:
    """The gradient was no number too often: keep the batch for whoever looks into it, and stop."""
    if job.processes.leads:
        batch = taken[-1][0]
        arrays = {
            f"{name}.{part}": array for name, stream in batch.streams.items() for part, array in stream.arrays().items()
        }
        np.savez(job.run.offending, allow_pickle=False, pairs=batch.pairs, **arrays)
    raise HarkError(
        f"{job.run.path}: the loss or its gradient was not a number {job.config.train.max_bad_steps} times in a row, "
        f"at step {job.progress.step}; the last batch is kept in {job.run.offending}. "
        "Try a lower train.rate_scale, or set train.clip_norm"
    )
