"""The training loop."""

from typing import Literal

from hark.train.dev import evaluate
from hark.train.job import TrainingJob
from hark.train.schedule import learning_rate
from hark.train.step_log import log_step

Ending = Literal["finished", "interrupted", "early"]


def train(job: TrainingJob) -> Ending:
    """Train until the last step, a signal or early stopping; save; return why it ended."""
    settings, processes = job.config.train, job.processes
    ending: Ending | None = None
    while ending is None and (step := job.progress.step + 1) <= settings.steps:
        batches = [next(job.stream) for _ in range(job.batches_here)]
        # One all-reduce per step besides the gradients: the token counts, and whether to save or stop, on which all
        # processes must agree.
        held = [batch for batch, _ in batches]
        counts = (sum(batch.n_predicted for batch in held), sum(batch.n_target_tokens for batch in held))
        skips = sum(batch.n_skipped for batch in held)
        predicted, tokens, skipped, stop, save = processes.total(
            *counts, skips, bool(job.signals.received), job.save_is_due()
        )

        for number, (batch, tensors) in enumerate(batches, start=1):
            job.seed_dropout(batch)
            # Gradients are averaged over processes, so scaling by world / tokens gives the mean per token.
            loss, nll = job.passes(tensors, processes.world / max(predicted, 1), last=number == len(batches))
            job.meter.add(loss, nll, batch)
        norm = job.optimiser.step(learning_rate(step, job.config))
        if job.average is not None:
            job.average.update(step)
        job.bad_steps.add(step, job.optimiser.bad_in_a_row, batches[-1][0])
        job.advance(int(tokens), int(skipped))

        last = step == settings.steps
        logs, evaluates = (last or step % every == 0 for every in (settings.log_steps, settings.eval_steps))
        if logs:
            log_step(job, norm)
        if logs or evaluates or save or stop or job.bad_steps.is_due():
            job.bad_steps.look()
        if evaluates and not evaluate(job):
            ending = "early"
        if last:
            ending = ending or "finished"
        elif stop:
            ending = "interrupted"
        if save or ending is not None:
            job.save()
    return ending or "finished"  # resumed after its last step
