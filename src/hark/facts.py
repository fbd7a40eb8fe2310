"""Model metadata, stored in a bundle as `facts.json`: languages, training text, licences, scores and more.

Code reads facts. The card, `card.md`, is rendered from them (`hark.card`) and never parsed. Numbers are stored in full
precision; the card rounds them. Reading is strict, and writing leaves defaults out. Standard library only.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from hark.errors import UserError

FORMAT, MINOR = 1, 7
"""`FORMAT` grows with changes that an older hark would misread; it then rejects the file. `MINOR` grows with new keys
that an older hark may ignore; it then reads the file without them, and refuses to write such facts, which would lose
keys. In a file with our `MINOR` or an older one, an unknown key is an error."""

SIGNS = "#$&*+<=>@[\\]^_`{|}~"
"""ASCII symbols that are not punctuation of ordinary text."""
RARE = 1e-6
"""Relative frequency in a text below which a model does not learn a symbol."""
LanguagePair = tuple[str, str]
"""Language codes: source, target."""
VocabularyKind = Literal["sentencepiece", "pieces"]
"""`sentencepiece`: ids are those of the sentencepiece model. `pieces`: a list assigns the ids (imported models)."""
LanguageTags = Literal["none", "source", "target"]
"""How the target language is selected. `none`: the model has only one. `source`: by the target's tag at the start of
the source (Johnson et al., 2017). `target`: the source starts with its own tag, and decoding with the target's tag
(M2M100, NLLB, mBART-50)."""
AlignmentStep = Literal["predicts", "reads"]
"""Decoder step at which attention aligns a token: the one that outputs it, or the next one, which has it as input."""
LabelsOf = Literal["text", "words"]
"""What has a label: a text, or each of its words."""
ParentRole = Literal["teacher", "start", "averaged"]


RETIRED = frozenset({"speed", "everyday", "teacher"})
"""Keys that hark wrote before its first release; they are ignored."""


class FactError(UserError):
    """A fact is missing, unknown or of the wrong type."""

    def __init__(self, key: str, problem: str) -> None:
        self.key, self.problem = key, problem
        super().__init__(f"{key}: {problem}")


@dataclass(frozen=True)
class VocabularyFacts:
    """The vocabulary, and the symbols in the training text."""

    kind: VocabularyKind = "sentencepiece"
    language_tags: LanguageTags = "none"
    source_characters: int | None = None
    """Characters on the source side of the training text."""
    source_signs: dict[str, int] = field(default_factory=dict)
    """The count of each of `SIGNS` there. A model can neither translate nor copy symbols that it has rarely seen."""

    @property
    def rare_signs(self) -> frozenset[str]:
        """The symbols that are rare in the training text; empty if they were not counted."""
        if not self.source_characters:
            return frozenset()
        return frozenset(sign for sign in SIGNS if self.source_signs.get(sign, 0) < RARE * self.source_characters)


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
            raise FactError("heads", "must be indices of heads of one layer, from 0")


@dataclass(frozen=True)
class TextFacts:
    """A corpus that the model was trained on."""

    name: str
    pairs: int | None = None
    what: str = ""
    licence: str = ""
    licence_url: str = ""
    attribution: str = ""
    """Whom to credit when the model is redistributed."""
    url: str = ""


@dataclass(frozen=True)
class MeasuredScore:
    """A score with its confidence interval."""

    score: float
    confidence: float | None = None
    """Half of the 95% confidence interval."""


@dataclass(frozen=True)
class SetScores:
    """The scores on one test set, by metric (`bleu`, `chrf2`, ...)."""

    name: str
    sentences: int
    scores: dict[str, MeasuredScore]
    pair: LanguagePair | None = None
    """The language pair, if the model has several."""


@dataclass(frozen=True)
class ScoreFacts:
    """The scores on all test sets."""

    signatures: dict[str, str]
    """sacreBLEU's signature of each metric."""
    sets: tuple[SetScores, ...]
    resamples: int = 0
    """Bootstrap resamples behind the confidence."""
    held_out: bool = False
    """Whether the sentences of these sets were removed from the training text."""


@dataclass(frozen=True)
class ParentModel:
    """A model from which this one was made."""

    role: ParentRole
    """It translated the training text, was fine-tuned, or is part of an average."""
    name: str
    parameters: int | None = None
    shape: str = ""
    """A description of layers, widths and vocabulary."""


@dataclass(frozen=True)
class MakingFacts:
    """How the model was made."""

    weights: str = ""
    """A description of the weights, such as the checkpoint or average."""
    step: int | None = None
    """The step of the weights, if they are those of one checkpoint."""
    dev: dict[str, dict[str, float]] = field(default_factory=dict)
    """What training measured of these weights, by dev set and name: `nll` (nats per token or label), `BLEU`, ..."""
    parameters: int | None = None
    storage: str = ""
    """The data type of stored matrices (`hark.weights.Storage`)."""
    steps: int | None = None
    step_tokens: int | None = None
    """Tokens per training step on each side."""
    variants: dict[str, float] = field(default_factory=dict)
    """Shares of the training pairs that were also written in another form (`[data.augment]`)."""
    parents: tuple[ParentModel, ...] = ()
    tool: str = ""
    """The tool that made the model, and later changes."""


@dataclass(frozen=True)
class ShortlistFacts:
    """The size of the vocabulary shortlist (`hark shortlist`)."""

    common: int
    candidates: int


@dataclass(frozen=True)
class OriginFacts:
    """The origin of an imported model."""

    kind: str
    """`marian`, `huggingface`, `ctranslate2`, ..."""
    source: str
    """Its name or URL there."""
    revision: str = ""
    licence: str = ""


@dataclass(frozen=True)
class ParityProof:
    """A measurement that an imported or exported model computes the same as the original."""

    against: str
    """The program and version compared with."""
    sentences: int
    equal: int
    """Sentences with identical translations."""
    largest_difference: float | None = None
    """The largest difference between logits, or between what `quantity` names."""
    search: str = ""
    what: str = ""
    """The import or export that was checked, such as `export to onnx, int8`."""
    quantity: Literal["logits", "log-probabilities", "hidden states"] | None = None
    bound: float | None = None
    """The largest difference that was allowed."""
    skipped: bool = False
    """Whether there was no comparison."""
    reason: str = ""
    """Why there was none; empty: `--no-check`."""


@dataclass(frozen=True)
class LabelFacts:
    """What an encoder predicts, if not tokens: labels, in the order of their numbers; with `pairs`, of two texts."""

    of: LabelsOf
    names: tuple[str, ...]
    pairs: bool = False

    def check(self) -> None:
        if len(set(self.names)) < max(2, len(self.names)):
            raise FactError("names", "must be two or more, and all different")


@dataclass(frozen=True)
class Facts:
    """The metadata of a model."""

    pairs: tuple[LanguagePair, ...]
    """Every direction that the model translates; none, if it has one stack."""
    title: str = ""
    summary: str = ""
    """One or two sentences, shown by `hark models`."""
    licence: str = ""
    licence_terms: str = ""
    limits: str = ""
    """Known weaknesses of the model."""
    vocabulary: VocabularyFacts = field(default_factory=VocabularyFacts)
    alignment: AlignmentFacts | None = None
    text: tuple[TextFacts, ...] = ()
    scores: ScoreFacts | None = None
    unsure: float | None = None
    """Mean negative log-probability per token above which a translation is flagged as unsure; None: the default. A
    model trained on human translations is less confident than one trained on a teacher's, at the same quality."""
    unsure_directions: dict[str, float] = field(default_factory=dict)
    """Thresholds of single directions, such as `it-nl`, where they differ from `unsure`."""
    making: MakingFacts = field(default_factory=MakingFacts)
    shortlist: ShortlistFacts | None = None
    origin: OriginFacts | None = None
    parity: tuple[ParityProof, ...] = ()
    languages: tuple[str, ...] = ()
    """The languages of the text that a model of one stack was trained on."""
    labels: LabelFacts | None = None
    """Of an encoder that classifies texts or tags words."""
    minor: int = MINOR
    """The minor version of the file that was read."""

    def check(self) -> None:
        if not self.pairs and not self.languages:
            raise FactError("pairs", "is empty; name at least one pair of languages")
        if not all(code for pair in (*self.pairs, self.languages) for code in pair):
            raise FactError("pairs", "has an empty language code")

    def unsure_above(self, source: str, target: str) -> float | None:
        """The threshold of a direction for flagging a translation as unsure; None: the default."""
        return self.unsure_directions.get(f"{source}-{target}", self.unsure)

    @property
    def unmeasured(self) -> "Facts":
        """A copy without measurements, for a model with other weights. Drops `summary` too, which may quote scores."""
        making = replace(self.making, step=None, dev={})
        without = replace(self, making=making, unsure=None, unsure_directions={}, parity=())
        return replace(without, summary="", scores=None)


FACTS = "facts.json"


def load_facts(path: Path) -> Facts:
    """Read facts from a file."""
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


@lru_cache(maxsize=32)  # a command reads those of a model several times, which takes 11 ms for many directions
def parse(text: str) -> Facts:
    """Parse facts strictly; `FORMAT` explains the handling of unknown keys."""
    try:
        tree = json.loads(text, parse_constant=_refuse_constant)
    except ValueError as error:
        raise FactError("file", f"not valid JSON: {error}") from None
    if not isinstance(tree, dict):
        raise FactError("file", "must be a JSON object")
    version, minor = tree.pop("format", None), tree.get("minor", 0)
    if version != FORMAT:
        raise FactError("format", f"{version} is not supported, only {FORMAT}; update hark")
    newer = isinstance(minor, int) and minor > MINOR
    return _build(Facts, tree, "", ignore_unknown=newer)


def dump_facts(facts: Facts) -> str:
    """The facts as JSON; `parse(dump_facts(facts)) == facts`. Omits defaults, except those of the vocabulary."""
    if facts.minor > MINOR:
        raise UserError(
            f"the model's facts are from a newer hark (format {FORMAT}.{facts.minor}, this one has {FORMAT}.{MINOR}) "
            "and would lose information; update hark to change this model"
        )
    facts.check()
    vocabulary = {"kind": facts.vocabulary.kind, "language_tags": facts.vocabulary.language_tags}
    head = {"format": FORMAT, "minor": MINOR, "pairs": [], "vocabulary": {**vocabulary, **_plain(facts.vocabulary)}}
    tree = {**head, **_plain(replace(facts, vocabulary=VocabularyFacts(), minor=MINOR))}
    return json.dumps(tree, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not valid in JSON")


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value) if not _is_default(each, value)}
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
    """Build a dataclass from a JSON object."""
    if not isinstance(tree, dict):
        raise FactError(key, f"must be an object, not {_shown(tree)}")
    kinds, required = _declared(cast(Any, kind))
    for name in tree:
        if name not in kinds and name not in RETIRED and not ignore_unknown:
            raise FactError(_under(key, name), f"no such fact; choose from {', '.join(kinds)}")
    for name in required:
        if name not in tree:
            raise FactError(_under(key, name), "is missing")
    values = {
        name: _convert(kinds[name], value, _under(key, name), ignore_unknown)
        for name, value in tree.items()
        if name in kinds
    }
    built = kind(**values)
    try:
        getattr(built, "check", lambda: None)()
    except FactError as error:
        raise FactError(_under(key, error.key), error.problem) from None
    return built


@cache  # the facts of one model have hundreds of objects of a few kinds
def _declared(kind: type) -> tuple[Mapping[str, Any], Sequence[str]]:
    """The types of a dataclass's fields by name, and the fields without a default."""
    required = [each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING]
    return get_type_hints(kind), required


@cache
def _parts(kind: Any) -> tuple[Any, tuple[Any, ...], bool]:
    """The origin and the arguments of a type, and whether it is a dataclass."""
    return get_origin(kind), get_args(kind), is_dataclass(kind)


def _convert(kind: Any, value: Any, key: str, ignore_unknown: bool) -> Any:
    """Convert a JSON value to the declared type of a field."""
    origin, inner, has_fields = _parts(kind)
    if origin in (Union, UnionType):
        (kind,) = (each for each in inner if each is not type(None))
        return None if value is None else _convert(kind, value, key, ignore_unknown)
    if has_fields:
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
    if type(value) is not kind:  # not isinstance: bool is a subclass of int
        expected = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}[kind]
        raise FactError(key, f"must be {expected}, not {_shown(value)}")
    return value


def _convert_list(inner: tuple[Any, ...], value: Any, key: str, ignore_unknown: bool) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise FactError(key, f"must be a list, not {_shown(value)}")
    kinds: Sequence[Any] = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
    if len(kinds) != len(value):
        raise FactError(key, f"must have {len(kinds)} items, not {len(value)}")
    items = enumerate(zip(kinds, value, strict=True))
    return tuple(_convert(kind, each, f"{key}[{number}]", ignore_unknown) for number, (kind, each) in items)


def _under(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:39] + "…"
