"""Records: what a run reports about itself, one kind for each event."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

StopReason = Literal["finished", "interrupted", "early", "failed"]


@dataclass(frozen=True)
class StartRecord:
    """A run begins."""

    kind: ClassVar = "start"
    step: int
    time: float  # seconds since 1970, as in every record
    target_tokens: int
    device: str
    processes: int
    weights: int
    steps: int  # that the run is to take in all
    passes: str = ""  # how forwards and backwards are computed, in words
    pairs: int = 0  # of the training text
    too_long: int = 0  # of those, pairs longer than max_length, which never enter a batch
    max_length: int = 0
    step_seconds: float = 0.0  # that a step will take, as far as a trial on the CPU can tell; 0: not known


@dataclass(frozen=True)
class ResumeRecord(StartRecord):
    """A run goes on from the checkpoint of `step`: earlier records of later steps no longer count."""

    kind: ClassVar = "resume"


@dataclass(frozen=True)
class TrainRecord:
    """Training since the last such record."""

    kind: ClassVar = "train"
    step: int
    epoch: float
    loss: float  # label-smoothed, per target token
    nll: float  # plain, per target token
    rate: float
    grad_norm: float
    target_tokens: int  # so far
    tokens_per_second: float  # target tokens
    fill: float  # share of the batch that is real tokens
    seconds: float  # of training so far, over all resumes
    time: float
    memory_gib: float | None = None
    utilisation: float | None = None
    skipped: int = 0  # steps so far whose loss or gradient was not finite
    skipped_pairs: int = 0  # so far: pairs that a pass left out because they fitted in none of its batches


@dataclass(frozen=True)
class DevRecord:
    """A measurement on one dev set."""

    kind: ClassVar = "dev"
    step: int
    set: str
    loss: float
    nll: float
    perplexity: float
    best: bool  # the best of the run so far
    seconds: float
    time: float
    scores: Mapping[str, float] = field(default_factory=dict)
    skipped_pairs: int = 0  # of the set: pairs that were not measured, because they are too long or fitted in no batch


@dataclass(frozen=True)
class SaveRecord:
    """A checkpoint was written."""

    kind: ClassVar = "save"
    step: int
    took: float
    bytes: int
    time: float


@dataclass(frozen=True)
class StopRecord:
    """A run ended, by itself or by a signal. A killed one leaves no such record."""

    kind: ClassVar = "stop"
    step: int
    reason: StopReason
    message: str
    time: float


@dataclass(frozen=True)
class TranslationSample:
    """One sentence translated during training, in samples.jsonl."""

    step: int
    source: str
    reference: str
    translation: str
    time: float


Record = StartRecord | ResumeRecord | TrainRecord | DevRecord | SaveRecord | StopRecord
KINDS: dict[str, type[Record]] = {
    each.kind: each for each in (StartRecord, ResumeRecord, TrainRecord, DevRecord, SaveRecord, StopRecord)
}
