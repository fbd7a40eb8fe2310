"""Measuring on the dev sets while training, and keeping the best model, or the last."""

import math
import time
from typing import Any

import torch

from hark.data.batches import Batches
from hark.train import spread
from hark.train.job import Job, Judgement
from hark.train.loss import to_tensors
from hark.train.metrics import DevRecord, Sample
from hark.train.passes import autocast


def measure(job: Job) -> bool:
    """Measure on every dev set, and keep the model if it is to be kept; whether training should go on."""
    progress, patience = job.progress, job.config.train.early_stop
    if not job.dev:
        return True
    job.settle()
    with job.averaged():
        sums = {name: measure_set(job, batches) for name, batches in job.dev}
        judged = judge(job)
        nll = sum(each[1] for each in sums.values()) / sum(each[2] for each in sums.values())
        better = progress.best is None or nll < progress.best
        progress.best, progress.since_best = (nll, 0) if better else (progress.best, progress.since_best + 1)
        last = job.config.train.best == "last"
        if better or last:
            weights = spread.gather_weights(job.model)
            if job.processes.leads:
                chosen = "the last" if last else "the best on the dev sets"
                job.bundles.write(job.run.best, weights, f"step {progress.step}, {chosen}")
    for name, (loss_sum, nll_sum, tokens) in sums.items():
        record = DevRecord(
            step=progress.step,
            set=name,
            loss=loss_sum / tokens,
            nll=nll_sum / tokens,
            perplexity=math.exp(min(nll_sum / tokens, 700)),
            best=better,
            seconds=progress.seconds,
            time=time.time(),
            scores={name: value for each in judged for name, value in each.scores.items()},
        )
        job.tell(record)
    for sample in (sample for each in judged for sample in each.samples):
        job.tell(Sample(progress.step, *sample, time=time.time()))
    job.pause()
    return patience is None or progress.since_best < patience


@torch.no_grad()
def measure_set(job: Job, batches: Batches[Any]) -> tuple[float, float, float]:
    """Sums of loss, nll and tokens over every sentence of a dev set once; the processes share the batches."""
    rank, world = job.processes.rank, job.processes.world
    if job.passes.replicas.sharded:  # all processes must take part in every batch; then each counts it in part
        mine, part = range(batches.batches_per_epoch), 1 / world
    else:
        mine, part = range(rank, batches.batches_per_epoch, world), 1.0
    sums = torch.zeros(2, dtype=torch.float64, device=job.processes.device)
    tokens = 0
    # A few batches are over before a compiler has begun; shared weights are gathered only where the module is called.
    objective = job.objective if job.passes.replicas.sharded else job.objective.forward
    job.model.eval()
    for index in mine:
        batch = batches[index]
        with autocast(job.config, job.processes.device):
            sums += torch.stack(objective(to_tensors(batch, job.processes.device))).double()
        tokens += batch.n_target_tokens
    job.model.train()
    loss, nll, total = job.processes.total(*(part * value for value in (*sums.tolist(), tokens)))
    return loss, nll, total


@torch.no_grad()
def judge(job: Job) -> list[Judgement]:
    """Whatever else is to be measured; the leading process has the whole model, unless it is shared out."""
    if not job.scores or not job.processes.leads or job.passes.replicas.sharded:
        return []
    job.model.eval()
    found = [score(job.model) for score in job.scores]
    job.model.train()
    return found
