"""Systems to evaluate: hark models, and files of translations by other systems."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from hark.bundle import name_of
from hark.card import describe_pairs
from hark.errors import UserError
from hark.evaluate.held_out import HeldOutSet, read_hypotheses
from hark.facts import LanguagePair
from hark.translate.align import Link
from hark.translate.load import Loaded
from hark.translate.translation import Alternative


@dataclass(frozen=True)
class Speed:
    """The speed of translating a set, from text to text."""

    engine: str
    load_seconds: float
    """From the verified bundle on disk to the first translated sentence."""
    seconds: float
    sentences: int
    tokens: int
    """Of the translations, including EOS."""

    @property
    def sentences_per_second(self) -> float:
        return self.sentences / self.seconds

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds


@dataclass(frozen=True)
class Output:
    """One system's translations of a set."""

    texts: tuple[str, ...]
    speed: Speed | None = None
    doubtful: int = 0
    """Translations that the system flags as doubtful."""


@dataclass(frozen=True)
class Insight:
    """Alternatives and word alignment of a sentence. `links` refer to `text`."""

    text: str
    alternatives: tuple[Alternative, ...]
    links: tuple[Link, ...]


class System(Protocol):
    """A model, or another system's translations."""

    @property
    def name(self) -> str: ...

    def translate(self, held_out: HeldOutSet, advance: Callable[[], None]) -> Output:
        """Translate a set; call `advance` after each sentence."""
        ...

    def look(self, sources: Sequence[str], nbest: int, languages: LanguagePair | None = None) -> list[Insight | None]:
        """Return alternatives and alignments. Separate from `translate`, so that it does not count as speed."""
        ...


@dataclass(frozen=True)
class HypothesisFiles:
    """Another system's translations, read from files, by the name of the set."""

    name: str
    texts: Mapping[str, tuple[str, ...]]

    def translate(self, held_out: HeldOutSet, advance: Callable[[], None]) -> Output:
        for _ in held_out.sources:
            advance()
        return Output(self.texts[held_out.name])

    def look(
        self,
        sources: Sequence[str],
        nbest: int,  # noqa: ARG002
        languages: LanguagePair | None = None,  # noqa: ARG002
    ) -> list[Insight | None]:
        return [None] * len(sources)


@dataclass
class ModelSystem:
    """A hark model. Its engine is created on first use."""

    name: str
    loaded: Loaded
    split: bool = False
    protect: bool = False
    search: Mapping[str, Any] = field(default_factory=dict)

    @property
    def pair(self) -> LanguagePair:
        """Its direction, or the first of several."""
        return self.loaded.pairs[0]

    @property
    def several(self) -> bool:
        """Whether it has several directions, so that each set must name its own."""
        return len(self.loaded.pairs) > 1

    def translates(self, pair: LanguagePair) -> bool:
        """Whether it knows both languages; it may not be trained on this direction (zero-shot)."""
        if not self.several:
            return pair == self.pair
        sources, targets = zip(*self.loaded.pairs, strict=True)
        return pair[0] in sources and pair[1] in targets

    def is_trained_on(self, pair: LanguagePair) -> bool:
        return pair in self.loaded.pairs

    def _languages(self, pair: LanguagePair | None) -> dict[str, str]:
        """The languages to translate with: those of a test set are known."""
        source, target = (pair or self.pair) if self.several else self.loaded.pairs[0]
        return {"source": source, "target": target}

    @property
    def _options(self) -> dict[str, Any]:
        """Options of `Loaded.translate` for lines that have nothing to do with each other."""
        return {"split": self.split, "protect": self.protect, "check": False, "formality": None, **self.search}

    @cached_property
    def load_seconds(self) -> float:
        """Load the model and return the time that it takes."""
        start = time.perf_counter()
        # Translate one sentence, which triggers lazy imports and the compilation of kernels.
        hello = self._languages(None)
        self.loaded.translate("Hello.", **self._options, **hello)
        return time.perf_counter() - start

    def translate(self, held_out: HeldOutSet, advance: Callable[[], None]) -> Output:
        load_seconds = self.load_seconds
        texts, tokens, doubtful = [], 0, 0
        languages = self._languages(held_out.languages)
        start = time.perf_counter()
        for each in self.loaded.translate(held_out.sources, **self._options, **languages):
            texts.append(each.text)
            tokens += sum(sentence.tokens for sentence in each.sentences)
            doubtful += bool(each.doubtful)
            advance()
        seconds = time.perf_counter() - start
        speed = Speed(self.loaded.engine.name, load_seconds, seconds, len(texts), tokens)
        return Output(tuple(texts), speed, doubtful)

    def look(self, sources: Sequence[str], nbest: int, languages: LanguagePair | None = None) -> list[Insight | None]:
        results = self.loaded.translate(
            sources, align=True, **self._languages(languages), **{**self._options, "nbest": nbest}
        )
        return [Insight(each.text, each.alternatives, each.links) for each in results]


def read_systems(hypotheses: Sequence[str], sets: Sequence[HeldOutSet]) -> list[HypothesisFiles]:
    """Read systems from `FILE` or `NAME=FILE`. Files of the same name are one system, in the order of the sets."""
    by_name: dict[str, list[Path]] = {}
    for each in hypotheses:
        name, equals, file = each.partition("=")
        if not name or not equals or Path(each).exists():
            file = each.removeprefix("=")
            name = Path(file).name
        by_name.setdefault(name, []).append(Path(file))
    for name, files in by_name.items():
        if len(files) != len(sets):
            raise UserError(
                f"--hypothesis {name}: {len(files)} files for {len(sets)} test sets; repeat NAME=FILE, one for each set"
            )
    return [
        HypothesisFiles(name, {each.name: read_hypotheses(file, each) for each, file in zip(sets, files, strict=True)})
        for name, files in by_name.items()
    ]


def check_systems(
    models: Sequence[ModelSystem], from_files: Sequence[HypothesisFiles], pair: tuple[str, str] | None
) -> None:
    """Raise an error if the systems cannot be compared: other languages, or two systems of the same name."""
    names = [*(each.name for each in models), *(each.name for each in from_files)]
    if not names:
        raise UserError("nothing to evaluate; name a model, or use --hypothesis FILE")
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two systems are named {name}; name one with --hypothesis NAME=FILE")
    for each in models:
        pair = pair or each.pair
        if not each.translates(pair):
            known = describe_pairs(each.loaded.pairs)
            raise UserError(f"{each.name}: translates {known}, not {' to '.join(pair)}; leave it out")


def name_models(models: Sequence[str]) -> list[str]:
    """Display names of models: their folder or run, or the whole argument if that is ambiguous."""
    short = [name_of(Path(each).absolute()) for each in models]
    return [each if short.count(each) == 1 else whole for each, whole in zip(short, models, strict=True)]
