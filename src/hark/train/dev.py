"""Measuring on the dev sets while training, and keeping the best model, or the last."""

import math
import time
from typing import Any, NamedTuple

import torch

from hark.data.batches import Batches
from hark.train import spread
from hark.train.job import Judgement, TrainingJob
from hark.train.loss import to_tensors
from hark.train.passes import autocast
from hark.train.records import DevRecord, TranslationSample


def measure(job: TrainingJob) -> bool:
    """Measure on every dev set, and keep the model if it is to be kept; whether training should go on."""
    progress, patience = job.progress, job.config.train.early_stop
    if not job.dev:
        return True
    job.settle()
    with job.averaged():
        sums = {name: measure_set(job, batches) for name, batches in job.dev}
        judged = judge(job)
        nll = sum(each.nll for each in sums.values()) / sum(each.tokens for each in sums.values())
        better = progress.best is None or nll < progress.best
        progress.best, progress.since_best = (nll, 0) if better else (progress.best, progress.since_best + 1)
        last = job.config.train.best == "last"
        if better or last:
            weights = spread.gather_weights(job.model)
            if job.processes.leads:
                chosen = "the last" if last else "the best on the dev sets"
                job.bundles.write(job.run.best, weights, f"step {progress.step}, {chosen}", force=True)
    for name, found in sums.items():
        record = DevRecord(
            step=progress.step,
            set=name,
            loss=found.loss / found.tokens,
            nll=found.nll / found.tokens,
            perplexity=math.exp(min(found.nll / found.tokens, 700)),
            best=better,
            seconds=progress.seconds,
            time=time.time(),
            scores={name: value for each in judged for name, value in each.scores.items()},
            skipped_pairs=found.skipped_pairs,
        )
        job.tell(record)
    for sample in (sample for each in judged for sample in each.samples):
        job.tell(TranslationSample(progress.step, *sample, time=time.time()))
    job.pause()
    return patience is None or progress.since_best < patience


class DevSums(NamedTuple):
    """Sums over a dev set."""

    loss: float
    nll: float
    tokens: float
    skipped_pairs: int


@torch.no_grad()
def measure_set(job: TrainingJob, batches: Batches[Any]) -> DevSums:
    """Sums over every pair of a dev set once, but those that batches cannot hold; the processes share the batches."""
    rank, world = job.processes.rank, job.processes.world
    if job.passes.replicas.sharded:  # all processes must take part in every batch; then each counts it in part
        mine, part = range(batches.batches_per_epoch), 1 / world
    else:
        mine, part = range(rank, batches.batches_per_epoch, world), 1.0
    sums = torch.zeros(2, dtype=torch.float64, device=job.processes.device)
    tokens = skipped = 0
    # A few batches are over before a compiler has begun; shared weights are gathered only where the module is called.
    objective = job.objective if job.passes.replicas.sharded else job.objective.forward
    job.model.eval()
    for index in mine:
        batch = batches[index]
        with autocast(job.config, job.processes.device):
            sums += torch.stack(objective(to_tensors(batch, job.processes.device))).double()
        tokens += batch.n_target_tokens
        skipped += batch.n_skipped
    job.model.train()
    here = (part * value for value in (*sums.tolist(), tokens, skipped))
    loss, nll, total, left_out = job.processes.total(*here)
    return DevSums(loss, nll, total, batches.n_excluded + round(left_out))


@torch.no_grad()
def judge(job: TrainingJob) -> list[Judgement]:
    """Whatever else is to be measured; the leading process has the whole model, unless it is shared out."""
    if not job.scores or not job.processes.leads or job.passes.replicas.sharded:
        return []
    job.model.eval()
    found = [score(job.model) for score in job.scores]
    job.model.train()
    return found
