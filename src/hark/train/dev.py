"""Evaluation on the dev sets during training; saves the best or the last model."""

import math
import time
from typing import Any, NamedTuple

import torch

from hark.data.batches import Batches
from hark.train import sharding
from hark.train.job import DevScores, TrainingJob
from hark.train.loss import to_tensors
from hark.train.passes import autocast
from hark.train.records import DevRecord, TranslationSample


def evaluate(job: TrainingJob) -> bool:
    """Evaluate on every dev set and save the model if it is the one to keep; return whether to continue training."""
    progress, patience = job.progress, job.config.train.early_stop
    if not job.dev:
        return True
    job.synchronise()
    with job.averaged():
        sums = {name: evaluate_set(job, batches) for name, batches in job.dev}
        results = score(job)
        nll = sum(total.nll for total in sums.values()) / sum(total.tokens for total in sums.values())
        (by_score,) = job.processes.total(-sum(scored.main for scored in results))  # only the leader has results
        measure = by_score if job.config.train.best == "score" else nll
        better = progress.best is None or measure < progress.best
        progress.best, progress.since_best = (measure, 0) if better else (progress.best, progress.since_best + 1)
        last = job.config.train.best == "last"
        if better or last:
            weights = sharding.gather_weights(job.model)
            if job.processes.leads:
                origin = f"step {progress.step}, {'the last' if last else 'the best on the dev sets'}"
                measured = {name: total.measures for name, total in sums.items()}
                for scored in results:
                    measured = {name: {**each, **scored.of_sets.get(name, {})} for name, each in measured.items()}
                job.bundles.write(job.run.best, weights, origin, force=True, step=progress.step, dev=measured)
    for name, total in sums.items():
        record = DevRecord(
            step=progress.step,
            set=name,
            loss=total.loss / total.tokens,
            nll=total.mean_nll,
            perplexity=total.perplexity,
            best=better,
            seconds=progress.seconds,
            time=time.time(),
            scores=total.scores | {name: value for scored in results for name, value in scored.scores.items()},
            skipped_pairs=total.skipped_pairs,
        )
        job.record(record)
    for scored in results:
        for sample in scored.samples:
            job.record(TranslationSample(progress.step, *sample, time=time.time()))
    job.resume_meter()
    return patience is None or progress.since_best < patience


class DevSums(NamedTuple):
    """Sums over a dev set."""

    loss: float
    nll: float
    tokens: float
    skipped_pairs: int
    n_bytes: int
    """The size of running text; 0: pairs."""

    @property
    def mean_nll(self) -> float:
        return self.nll / self.tokens

    @property
    def perplexity(self) -> float:
        return math.exp(min(self.mean_nll, 700))

    @property
    def scores(self) -> dict[str, float]:
        """Bits per byte compare models with different vocabularies."""
        return {"bits/byte": self.nll / math.log(2) / self.n_bytes} if self.n_bytes else {}

    @property
    def measures(self) -> dict[str, float]:
        """What the facts of a model tell."""
        return {**self.scores, "nll": self.mean_nll, "perplexity": self.perplexity}


@torch.no_grad()
def evaluate_set(job: TrainingJob, batches: Batches[Any]) -> DevSums:
    """Sum over the pairs of a dev set that fit in a batch; the processes share the batches."""
    rank, world = job.processes.rank, job.processes.world
    if job.passes.replicas.sharded:  # all processes must take part in every batch, and each counts 1 / world of it
        mine, part = range(batches.batches_per_epoch), 1 / world
    else:
        mine, part = range(rank, batches.batches_per_epoch, world), 1.0
    sums = torch.zeros(2, dtype=torch.float64, device=job.processes.device)
    tokens = skipped = 0
    # Calling `forward` avoids compiling for a few batches. FSDP gathers weights only if the module itself is called.
    objective = job.objective if job.passes.replicas.sharded else job.objective.forward
    job.model.eval()
    for index in mine:
        batch = batches[index]
        with autocast(job.config, job.processes.device):
            sums += torch.stack(objective(to_tensors(batch, job.processes.device))).double()
        tokens += batch.n_predicted
        skipped += batch.n_skipped
    job.model.train()
    here = (part * value for value in (*sums.tolist(), tokens, skipped))
    loss, nll, total, left_out = job.processes.total(*here)
    return DevSums(loss, nll, total, batches.n_excluded + round(left_out), batches.n_bytes)


@torch.no_grad()
def score(job: TrainingJob) -> list[DevScores]:
    """Run the additional scorers on the leading process, unless the model is sharded."""
    if not job.scorers or not job.processes.leads or job.passes.replicas.sharded:
        return []
    job.model.eval()
    results = [scorer(job.model) for scorer in job.scorers]
    job.model.train()
    return results
