"""Records of a training run, one kind per event, as stored in metrics.jsonl."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

StopReason = Literal["finished", "interrupted", "early", "failed"]


@dataclass(frozen=True)
class StartRecord:
    """A run starts."""

    kind: ClassVar = "start"
    step: int
    time: float  # seconds since 1970, as in every record
    target_tokens: int
    device: str
    processes: int
    weights: int
    steps: int  # planned in total
    passes: str = ""  # a description of how the forward and backward passes run
    pairs: int = 0  # in the training text
    too_long: int = 0  # of these, the pairs longer than max_length, which never enter a batch
    max_length: int = 0
    step_seconds: float = 0.0  # estimated from a trial batch on a CPU; 0: unknown


@dataclass(frozen=True)
class ResumeRecord(StartRecord):
    """A run resumes from the checkpoint of `step`. Earlier records of later steps are void."""

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
    seconds: float  # of training so far, including sessions before a resume
    time: float
    memory_gib: float | None = None
    utilisation: float | None = None
    skipped: int = 0  # steps so far with a non-finite loss or gradient
    skipped_pairs: int = 0  # so far: pairs that fitted in no batch of their epoch


@dataclass(frozen=True)
class DevRecord:
    """An evaluation on one dev set."""

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
    skipped_pairs: int = 0  # pairs of the set left out: too long, or fitted in no batch


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
    """A run stopped, by itself or on a signal. A killed run leaves no stop record."""

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
    record.kind: record for record in (StartRecord, ResumeRecord, TrainRecord, DevRecord, SaveRecord, StopRecord)
}
