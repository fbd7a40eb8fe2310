"""Systems to evaluate: hark models, and files of translations by other systems."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from hark.bundle import name_of
from hark.decode.align import Link
from hark.decode.load import Loaded
from hark.decode.translation import Alternative
from hark.errors import UserError
from hark.evaluate.held_out import HeldOutSet, read_hypotheses


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

    def look(self, sources: Sequence[str], nbest: int) -> list[Insight | None]:
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

    def look(self, sources: Sequence[str], nbest: int) -> list[Insight | None]:  # noqa: ARG002
        return [None] * len(sources)


@dataclass
class Model:
    """A hark model. Its engine is created on first use."""

    name: str
    loaded: Loaded
    split: bool = False
    protect: bool = False
    search: Mapping[str, Any] = field(default_factory=dict)

    @property
    def pair(self) -> tuple[str, str]:
        data = self.loaded.config.data
        return data.source, data.target

    @cached_property
    def load_seconds(self) -> float:
        """Load the model and return the time that it takes."""
        start = time.perf_counter()
        # Translate one sentence, which triggers lazy imports and the compilation of kernels.
        self.loaded.translate("Hello.", split=self.split, protect=self.protect, **self.search)
        return time.perf_counter() - start

    def translate(self, held_out: HeldOutSet, advance: Callable[[], None]) -> Output:
        load_seconds = self.load_seconds
        texts, tokens, doubtful = [], 0, 0
        start = time.perf_counter()
        for each in self.loaded.translate(held_out.sources, split=self.split, protect=self.protect, **self.search):
            texts.append(each.text)
            tokens += sum(sentence.tokens for sentence in each.sentences)
            doubtful += bool(each.doubtful)
            advance()
        seconds = time.perf_counter() - start
        speed = Speed(self.loaded.engine.name, load_seconds, seconds, len(texts), tokens)
        return Output(tuple(texts), speed, doubtful)

    def look(self, sources: Sequence[str], nbest: int) -> list[Insight | None]:
        results = self.loaded.translate(
            sources, split=self.split, protect=self.protect, align=True, **{**self.search, "nbest": nbest}
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


def check_systems(models: Sequence[Model], from_files: Sequence[HypothesisFiles], pair: tuple[str, str] | None) -> None:
    """Raise an error if the systems cannot be compared: other languages, or two systems of the same name."""
    names = [*(each.name for each in models), *(each.name for each in from_files)]
    if not names:
        raise UserError("nothing to evaluate; name a model, or use --hypothesis FILE")
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two systems are named {name}; name one with --hypothesis NAME=FILE")
    for each in models:
        pair = pair or each.pair
        if each.pair != pair:
            raise UserError(f"{each.name}: translates {' to '.join(each.pair)}, not {' to '.join(pair)}; leave it out")


def name_models(models: Sequence[str]) -> list[str]:
    """Display names of models: their folder or run, or the whole argument if that is ambiguous."""
    short = [name_of(Path(each).absolute()) for each in models]
    return [each if short.count(each) == 1 else whole for each, whole in zip(short, models, strict=True)]
