"""The training loop."""

from typing import Literal

from hark.train.dev import measure
from hark.train.job import TrainingJob
from hark.train.schedule import learning_rate
from hark.train.step_log import log

Ending = Literal["finished", "interrupted", "early"]


def train(job: TrainingJob) -> Ending:
    """Train until the steps are done or something says stop; why it ended. The last state is saved in any case."""
    settings, processes = job.config.train, job.processes
    ending: Ending = "finished"
    while ending == "finished" and (step := job.progress.step + 1) <= settings.steps:
        taken = [next(job.stream) for _ in range(job.batches_here)]
        # One exchange between hosts a step: what all took, and whether to save or to stop, which all must agree on.
        here = sum(batch.n_target_tokens for batch, _ in taken), sum(batch.n_skipped for batch, _ in taken)
        tokens, skipped, stop, save = processes.total(*here, bool(job.signals.received), job.save_is_due())

        for number, (batch, tensors) in enumerate(taken, start=1):
            job.seed_dropout(batch)
            # Gradients are averaged over processes: times their number, over all tokens, is the mean of a token.
            loss, nll = job.passes(tensors, processes.world / max(tokens, 1), last=number == len(taken))
            job.meter.add(loss, nll, batch)
        norm = job.optimiser.step(learning_rate(step, job.config))
        if job.average is not None:
            job.average.update(step)
        job.advance(int(tokens), int(skipped))

        last = step == settings.steps
        if step % settings.log_steps == 0 or last:
            log(job, norm, taken)
        if (step % settings.eval_steps == 0 or last) and not measure(job):
            ending = "early"
        if stop:
            ending = "interrupted"
        if save or last or ending != "finished":
            job.save()
    return ending
