"""The facts of a bundle, `facts.json`: all that hark and other programs need to know of a model besides its settings.

Code reads facts. The card, `card.md`, is written from them (`hark.card`) and never parsed. Numbers are stored as they
were measured; the card rounds them. Standard library only.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

from hark.errors import UserError

FORMAT, MINOR = 1, 1
"""`FORMAT` grows when an older hark would misread a file, and such a hark refuses it. `MINOR` grows when keys are added
that an older one may safely ignore: it reads the file without them, and refuses to write such facts again, because they
would be lost. Of a file that claims no newer `MINOR` than ours, an unknown key is a mistake, and refused."""

SIGNS = "#$&*+<=>@[\\]^_`{|}~"
"""Signs of ASCII that are no punctuation of ordinary text."""
HARDLY = 1e-6
"""What is less frequent in a text than this, nobody learns from it."""
Pair = tuple[str, str]
"""Language codes: source, target."""
VocabularyKind = Literal["sentencepiece"]
LanguageTags = Literal["none", "source", "target"]
"""How a model is asked for its target language. `none`: not at all, it has one. `source`: the target's tag leads the
source (Johnson et al., 2017). `target`: the source's tag leads the source, and decoding is forced to begin with the
target's tag (M2M100, NLLB, mBART-50)."""
AlignmentStep = Literal["predicts", "reads"]
"""A token is the output of one decoder step and the input of the next. At the first the decoder looks for what to say,
at the second it knows what was said."""
ParentRole = Literal["teacher", "start", "averaged"]


class FactError(UserError):
    """A fact that is missing, unknown or of the wrong type."""

    def __init__(self, key: str, problem: str) -> None:
        self.key, self.problem = key, problem
        super().__init__(f"{key}: {problem}")


@dataclass(frozen=True)
class VocabularyFacts:
    kind: VocabularyKind = "sentencepiece"
    language_tags: LanguageTags = "none"
    source_characters: int | None = None
    """Of the training text's source side."""
    source_signs: dict[str, int] = field(default_factory=dict)
    """How often each sign of `SIGNS` stands there. A model can neither translate nor copy what it has hardly read."""

    @property
    def rare_signs(self) -> frozenset[str]:
        """The signs that the model has hardly read; none where nobody counted."""
        if not self.source_characters:
            return frozenset()
        return frozenset(sign for sign in SIGNS if self.source_signs.get(sign, 0) < HARDLY * self.source_characters)


@dataclass(frozen=True)
class AlignmentFacts:
    """The cross-attention heads that align words best. Layers and heads count from 0."""

    layer: int
    heads: tuple[int, ...]
    step: AlignmentStep
    error_rate: float | None = None
    """Alignment error rate on `pairs` sentence pairs of `corpus`."""
    pairs: int | None = None
    corpus: str = ""

    def check(self) -> None:
        if self.layer < 0 or not self.heads or min(self.heads) < 0:
            raise FactError("heads", "must be numbers of heads of one layer, from 0")


@dataclass(frozen=True)
class TextFacts:
    """A corpus that the model was trained on."""

    name: str
    pairs: int | None = None
    what: str = ""
    licence: str = ""
    licence_url: str = ""
    attribution: str = ""
    """Whom to name when the model is passed on."""
    url: str = ""


@dataclass(frozen=True)
class MeasuredScore:
    score: float
    confidence: float | None = None
    """Half of the 95% interval."""


@dataclass(frozen=True)
class SetScores:
    """What was measured on one test set, by the name of the measure (`bleu`, `chrf2`, ...)."""

    name: str
    sentences: int
    scores: dict[str, MeasuredScore]
    teacher: dict[str, MeasuredScore] = field(default_factory=dict)
    """The teacher's scores on the same set."""
    pair: Pair | None = None
    """Where the model has several."""


@dataclass(frozen=True)
class ScoreFacts:
    signatures: dict[str, str]
    """Of each measure, by sacreBLEU."""
    sets: tuple[SetScores, ...]
    resamples: int = 0
    """Bootstrap resamples behind the confidence."""
    held_out: bool = False
    """Whether the training text was purged of the sentences of these sets."""


@dataclass(frozen=True)
class SetSpeed:
    name: str
    sentences_per_second: float
    teacher: float | None = None
    """The same for the teacher, side by side."""


@dataclass(frozen=True)
class SpeedFacts:
    engine: str
    cores: int
    sentences: int
    """Of each set, at most."""
    repeats: int
    """Of which the best counts."""
    sets: tuple[SetSpeed, ...]


@dataclass(frozen=True)
class Hits:
    hold: int
    of: int


@dataclass(frozen=True)
class SpellingScores:
    """A test set whose source is spelled in another way, beside the same sentences as they are, scored alike."""

    name: str
    sentences: int
    scores: dict[str, float]
    plain: dict[str, float]


@dataclass(frozen=True)
class EverydayFacts:
    """Lines as people type them, each with what must hold of a good translation (`benchmarks/everyday.py`)."""

    lines: dict[str, Hits]
    """By kind."""
    test_set: str = ""
    spellings: tuple[SpellingScores, ...] = ()
    signatures: dict[str, str] = field(default_factory=dict)
    names: Hits | None = None
    """Translations that keep the name of a person that was put into them."""


@dataclass(frozen=True)
class ParentModel:
    """A model that this one was made from."""

    role: ParentRole
    """It translated the training text; training started from it; or its weights are part of an average."""
    name: str
    parameters: int | None = None
    shape: str = ""
    """Layers, widths and vocabulary, in words."""


@dataclass(frozen=True)
class MakingFacts:
    """How the model was made."""

    weights: str = ""
    """Which weights of the training these are, in words."""
    parameters: int | None = None
    storage: str = ""
    """What matrices are stored in (`hark.weights.Storage`)."""
    steps: int | None = None
    step_tokens: int | None = None
    """Tokens of each side in a training step."""
    variants: dict[str, float] = field(default_factory=dict)
    """Shares of the training pairs that were learnt a second time in another form (`[data.augment]`)."""
    parents: tuple[ParentModel, ...] = ()
    tool: str = ""
    """What makes it, and what has changed since."""


@dataclass(frozen=True)
class ShortlistFacts:
    """The tokens that the model may choose from (`hark shortlist`)."""

    common: int
    candidates: int


@dataclass(frozen=True)
class OriginFacts:
    """Where an imported model comes from."""

    kind: str
    """`marian`, `huggingface`, `ctranslate2`, ..."""
    source: str
    """Its name or address there."""
    revision: str = ""
    licence: str = ""


@dataclass(frozen=True)
class ParityProof:
    """That an import or export computes what the original computes."""

    against: str
    """The program, and its version."""
    sentences: int
    equal: int
    """Sentences whose translations are equal."""
    largest_difference: float | None = None
    """Between logits."""
    search: str = ""


@dataclass(frozen=True)
class Facts:
    pairs: tuple[Pair, ...]
    """Every direction that the model translates."""
    title: str = ""
    summary: str = ""
    """One sentence or two, shown by `hark models`."""
    licence: str = ""
    licence_terms: str = ""
    limits: str = ""
    """What the model is not good at."""
    vocabulary: VocabularyFacts = field(default_factory=VocabularyFacts)
    alignment: AlignmentFacts | None = None
    text: tuple[TextFacts, ...] = ()
    scores: ScoreFacts | None = None
    speed: SpeedFacts | None = None
    everyday: EverydayFacts | None = None
    making: MakingFacts = field(default_factory=MakingFacts)
    shortlist: ShortlistFacts | None = None
    origin: OriginFacts | None = None
    parity: tuple[ParityProof, ...] = ()
    minor: int = MINOR
    """Of the file that they were read from."""

    def check(self) -> None:
        if not self.pairs:
            raise FactError("pairs", "is empty; name at least one pair of languages")
        if not all(source and target for source, target in self.pairs):
            raise FactError("pairs", "has an empty language code")

    @property
    def unmeasured(self) -> "Facts":
        """Without what was measured: for a model with other weights. `summary` may quote scores, so it goes too."""
        return replace(self, summary="", scores=None, speed=None, everyday=None, parity=())
