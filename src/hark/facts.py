"""The facts of a bundle, `facts.json`: all that hark and other programs need to know of a model besides its settings.

Code reads facts. The card, `card.md`, is written from them (`hark.card`) and never parsed. Numbers are stored as they
were measured; the card rounds them. Standard library only.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from hark.errors import UserError

NAME = "facts.json"
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


def load(path: Path) -> Facts:
    """The facts in a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text (byte {error.start})") from None
    try:
        return parse(text)
    except FactError as error:
        raise UserError(f"{path}: {error}") from None


def parse(text: str) -> Facts:
    """Strict: see `FORMAT` for what an unknown key means."""
    try:
        tree = json.loads(text, parse_constant=_refuse_constant)
    except ValueError as error:
        raise FactError("file", f"not valid JSON: {error}") from None
    if not isinstance(tree, dict):
        raise FactError("file", "must be a JSON object")
    version, minor = tree.pop("format", None), tree.get("minor", 0)
    if version != FORMAT:
        raise FactError("format", f"is {version}, and this hark reads {FORMAT}; update hark")
    newer = isinstance(minor, int) and minor > MINOR
    return _build(Facts, tree, "", ignore_unknown=newer)


def dump(facts: Facts) -> str:
    """As JSON, such that `parse(dump(facts)) == facts`; defaults are left out, but for those of the vocabulary."""
    if facts.minor > MINOR:
        raise UserError(
            f"the model's facts were written by a newer hark ({FORMAT}.{facts.minor}; this one knows {FORMAT}.{MINOR}) "
            "and would lose some of what they say; update hark to change this model"
        )
    facts.check()
    vocabulary = {"kind": facts.vocabulary.kind, "language_tags": facts.vocabulary.language_tags}
    head = {"format": FORMAT, "minor": MINOR, "pairs": [], "vocabulary": {**vocabulary, **_plain(facts.vocabulary)}}
    tree = {**head, **_plain(replace(facts, vocabulary=VocabularyFacts(), minor=MINOR))}
    return json.dumps(tree, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        found = {each.name: getattr(value, each.name) for each in fields(value) if not _is_default(each, value)}
        return {name: _plain(inner) for name, inner in found.items()}
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value


def _is_default(each: Any, value: Any) -> bool:
    default = each.default if each.default_factory is MISSING else each.default_factory()
    return default is not MISSING and getattr(value, each.name) == default


Built = TypeVar("Built")


def _build(kind: type[Built], tree: Any, key: str, ignore_unknown: bool) -> Built:
    """A dataclass from a JSON object."""
    if not isinstance(tree, dict):
        raise FactError(key, f"must be an object, not {_shown(tree)}")
    kinds = get_type_hints(kind)
    for name in tree:
        if name not in kinds and not ignore_unknown:
            raise FactError(_under(key, name), f"no such fact; known here: {', '.join(kinds)}")
    for each in fields(cast(Any, kind)):
        if each.name not in tree and each.default is MISSING and each.default_factory is MISSING:
            raise FactError(_under(key, each.name), "is missing")
    made = {
        name: _convert(kinds[name], value, _under(key, name), ignore_unknown)
        for name, value in tree.items()
        if name in kinds
    }
    built = kind(**made)
    check = getattr(built, "check", None)
    if check is not None:
        try:
            check()
        except FactError as error:
            raise FactError(_under(key, error.key), error.problem) from None
    return built


def _convert(kind: Any, value: Any, key: str, ignore_unknown: bool) -> Any:
    """A JSON value as the type that a field declares."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        (kind,) = (each for each in inner if each is not type(None))
        return None if value is None else _convert(kind, value, key, ignore_unknown)
    if is_dataclass(kind):
        return _build(cast(Any, kind), value, key, ignore_unknown)
    if origin is Literal:
        if value not in inner:
            raise FactError(key, f"must be {' or '.join(inner)}, not {_shown(value)}")
        return value
    if origin is dict:
        if not isinstance(value, dict):
            raise FactError(key, f"must be an object, not {_shown(value)}")
        return {name: _convert(inner[1], each, _under(key, name), ignore_unknown) for name, each in value.items()}
    if origin is tuple:
        return _convert_list(inner, value, key, ignore_unknown)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:  # true is no whole number, although Python's bool is an int
        words = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}[kind]
        raise FactError(key, f"must be {words}, not {_shown(value)}")
    return value


def _convert_list(inner: tuple[Any, ...], value: Any, key: str, ignore_unknown: bool) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise FactError(key, f"must be a list, not {_shown(value)}")
    kinds: Sequence[Any] = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
    if len(kinds) != len(value):
        raise FactError(key, f"must have {len(kinds)} items, not {len(value)}")
    return tuple(
        _convert(kind, each, f"{key}[{number}]", ignore_unknown)
        for number, (kind, each) in enumerate(zip(kinds, value, strict=True))
    )


def _under(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:39] + "…"
