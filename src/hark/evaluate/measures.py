"""The metrics: sacreBLEU's, and two older BLEU conventions for comparison with papers that use them.

COMET is scored if the package and a checkpoint are installed; hark neither includes nor downloads them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hark.errors import MissingExtraError, UserError, require
from hark.evaluate.held_out import HeldOutSet
from hark.text.detector import base_language

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

BATCH = 16


def find_checkpoint(location: Path) -> Path:
    """The checkpoint at a path: the file itself, or one inside a folder in COMET's layout. Does not load it."""
    if find_spec("comet") is None:
        raise MissingExtraError("--comet requires the package unbabel-comet; see its manual")
    for path in (location, location / "checkpoints" / "model.ckpt", location / "model.ckpt"):
        if path.is_file():
            return path
    raise UserError(
        f"{location}: not a COMET model; name a .ckpt file, or the folder that contains checkpoints/model.ckpt"
    )


class Comet:
    """A loaded COMET model."""

    def __init__(self, checkpoint: Path) -> None:
        package: Any = import_module("comet")
        try:
            self.model = package.load_from_checkpoint(str(checkpoint))
        except Exception as error:
            raise UserError(f"{checkpoint}: COMET cannot load it: {error}") from None
        inside = (checkpoint.parent.name, checkpoint.name) == ("checkpoints", "model.ckpt")
        self.name = checkpoint.parent.parent.name if inside else checkpoint.stem

    @property
    def signature(self) -> str:
        try:
            of_package = version("unbabel-comet")
        except PackageNotFoundError:
            of_package = "unknown"
        return f"model:{self.name}|version:{of_package}"

    def score(self, held_out: HeldOutSet, texts: Sequence[str]) -> float:
        samples = [
            {"src": source, "mt": text, "ref": reference}
            for source, text, reference in zip(held_out.sources, texts, held_out.references, strict=True)
        ]
        import torch  # COMET requires it

        gpus = int(torch.cuda.is_available())
        return float(self.model.predict(samples, batch_size=BATCH, gpus=gpus, progress_bar=False).system_score)


ASCII = str.maketrans(
    {**dict.fromkeys("„“”«»", '"'), **dict.fromkeys("‘’‚´`", "'"), "–": "-", "—": " - ", "…": "...", "\u00a0": " "}
)
LETTER = r"[^\W\d_]"


@dataclass(frozen=True)
class MosesTokens:
    """Lower-cases and tokenises a line, close to the Moses scripts, on which older papers measured BLEU.

    It has no lists of abbreviations: `Dr.` becomes two tokens. Unicode quotes and dashes become ASCII first, as in the
    convention.
    """

    language: str

    def __call__(self, line: str) -> str:
        text = " ".join(line.lower().translate(ASCII).split())
        text = re.sub(r"([^\w\s.',\-]|_)", r" \1 ", text)
        text = re.sub(r"\.{2,}", r" \g<0> ", text)
        text = re.sub(r"(?<!\d),|,(?!\d)", " , ", text)
        return " ".join(self.periods(self.apostrophes(text).split()))

    def apostrophes(self, text: str) -> str:
        """`l' enfant` in French, `don 't` in English, `'` alone elsewhere."""
        match base_language(self.language):
            case "fr" | "it":
                inside = rf"(?<={LETTER})'(?={LETTER})"
                text = re.sub(rf"(?<!{LETTER})'|'(?!{LETTER})", " ' ", text)
                return re.sub(inside, "' ", text)
            case "en":
                text = re.sub(rf"(?<![^\W_])'|'(?!{LETTER})", " ' ", text)
                return re.sub(rf"(?<=[^\W_])'(?={LETTER})", " '", text)
            case _:
                return text.replace("'", " ' ")

    def periods(self, words: list[str]) -> Iterator[str]:
        """Split off periods, except of words with inner periods and before a lower-case word."""
        for word, following in pairwise([*words, ""]):
            stem = word.removesuffix(".")
            abbreviated = "." in stem and any(map(str.isalpha, stem))
            if stem in ("", word) or stem.endswith(".") or abbreviated or following[:1].islower():
                yield word
            else:
                yield from (stem, ".")


Measure = Literal["bleu", "chrf2", "ter", "paper_bleu", "lower_bleu", "comet"]
Tokenisation = Literal["13a", "intl", "zh", "char"]

TITLES: dict[Measure, str] = {
    "bleu": "BLEU",
    "chrf2": "chrF2",
    "ter": "TER",
    "paper_bleu": "paper's BLEU",
    "lower_bleu": "lower-case BLEU",
    "comet": "COMET",
}
NOTES: dict[Measure, str] = {
    "bleu": "the standard metric; quote it with its signature",
    "chrf2": "character n-grams instead of words",
    "ter": "edits per word of the reference; lower is better",
    "paper_bleu": "tokenised, words split at hyphens, not smoothed: for comparison with the paper only",
    "lower_bleu": "lower-cased, tokenised nearly as in Moses, not smoothed: for comparison with papers that do so",
    "comet": "a neural metric of meaning",
}
LOWER_IS_BETTER: frozenset[Measure] = frozenset({"ter"})


def decimals(measure: Measure) -> int:
    return 4 if measure == "comet" else 1


@dataclass(frozen=True)
class SplitCompounds:
    """A tokeniser that splits words at hyphens, an old convention of BLEU for German: `A ##AT##-##AT## B` for `A-B`.

    The convention tokenises with Moses; this uses sacreBLEU's 13a, so scores are close but not identical.
    """

    tokenise: Callable[[str], str]

    def __call__(self, line: str) -> str:
        # As in the convention, matches do not overlap: the second hyphen of A-B-C stays.
        return re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", self.tokenise(line))


def choose_tokenisation(language: str) -> Tokenisation:
    """sacreBLEU's tokeniser for a language; not all languages put spaces between words."""
    match base_language(language):
        case "zh":
            return "zh"
        case "ja":
            return "char"
        case _:
            return "13a"


def make_measures(tokenisation: Tokenisation, language: str = "") -> "dict[Measure, Metric]":
    """sacreBLEU's metrics for translations into a language.

    `force` suppresses a warning about tokenised text for each part of a set.
    """
    require("sacrebleu", "train", "evaluation")
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    paper = BLEU(tokenize="13a", smooth_method="none", force=True)
    paper.tokenizer = SplitCompounds(paper.tokenizer)
    paper.tokenizer_signature = "13a+split-at-hyphens"
    lower = BLEU(lowercase=True, tokenize="13a", smooth_method="none", force=True)
    lower.tokenizer = MosesTokens(language)
    lower.tokenizer_signature = f"moses-{base_language(language)}-without-abbreviations"
    return {
        "bleu": BLEU(tokenize=tokenisation, force=True),
        "chrf2": CHRF(),
        "ter": TER(),
        "paper_bleu": paper,
        "lower_bleu": lower,
    }


def make_tokeniser(tokenisation: Tokenisation) -> Callable[[str], str]:
    """The tokeniser of sacreBLEU's BLEU."""
    require("sacrebleu", "train", "evaluation")
    from sacrebleu.metrics.bleu import BLEU

    tokenise: Callable[[str], str] = BLEU(tokenize=tokenisation).tokenizer
    return tokenise
