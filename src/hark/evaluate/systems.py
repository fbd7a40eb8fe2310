"""What is measured: models of ours, and files that other systems wrote."""

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
    """How fast a set was translated, from text to text."""

    engine: str
    load_seconds: float
    """Until a first sentence was translated, from the verified bundle on the disk."""
    seconds: float
    sentences: int
    tokens: int
    """Of the translations, their ends included."""

    @property
    def sentences_per_second(self) -> float:
        return self.sentences / self.seconds

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds


@dataclass(frozen=True)
class Output:
    """What one system made of one set."""

    texts: tuple[str, ...]
    speed: Speed | None = None
    doubtful: int = 0
    """Translations that the system itself does not trust."""


@dataclass(frozen=True)
class Insight:
    """What else a model knows of a sentence. Links hold for `text`."""

    text: str
    alternatives: tuple[Alternative, ...]
    links: tuple[Link, ...]


class System(Protocol):
    """Something that translates, or has translated."""

    @property
    def name(self) -> str: ...

    def translate(self, held_out: HeldOutSet, advance: Callable[[], None]) -> Output:
        """Translate a set; `advance` is called for each sentence that is done."""
        ...

    def look(self, sources: Sequence[str], nbest: int) -> list[Insight | None]:
        """What else is known of some sentences; this is apart from translating, so that it is not in the speed."""
        ...


@dataclass(frozen=True)
class Written:
    """A system of which there are only files: its translations, by the name of the set."""

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
    """A bundle. Its engine is made when it first translates."""

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
        """Make it ready, and say how long that took."""
        start = time.perf_counter()
        # One sentence, because some work waits for it: code is loaded, kernels are compiled.
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


def read_systems(given: Sequence[str], sets: Sequence[HeldOutSet]) -> list[Written]:
    """Systems from `FILE` and `NAME=FILE`: those of one name are one system, its files in the order of the sets."""
    found: dict[str, list[Path]] = {}
    for each in given:
        name, equals, file = each.partition("=")
        if not name or not equals or Path(each).exists():
            file = each.removeprefix("=")
            name = Path(file).name
        found.setdefault(name, []).append(Path(file))
    for name, files in found.items():
        if len(files) != len(sets):
            raise UserError(
                f"--hypothesis {name}: {len(files)} files for {len(sets)} test sets; repeat NAME=FILE, one for each set"
            )
    return [
        Written(name, {each.name: read_hypotheses(file, each) for each, file in zip(sets, files, strict=True)})
        for name, files in found.items()
    ]


def check_systems(models: Sequence[Model], written: Sequence[Written], pair: tuple[str, str] | None) -> None:
    """Refuse what cannot be compared: other languages, or two systems of one name."""
    names = [*(each.name for each in models), *(each.name for each in written)]
    if not names:
        raise UserError("nothing to evaluate: name a bundle, or give --hypothesis FILE")
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two systems are called {name}; name the file with --hypothesis NAME=FILE")
    for each in models:
        pair = pair or each.pair
        if each.pair != pair:
            raise UserError(
                f"{each.name}: translates {' to '.join(each.pair)}, but this is about {' to '.join(pair)}; leave it out"
            )


def name_models(given: Sequence[str]) -> list[str]:
    """What bundles are called: their folder, or their run; all that was typed where two would be called the same."""
    short = [name_of(Path(each).absolute()) for each in given]
    return [each if short.count(each) == 1 else typed for each, typed in zip(short, given, strict=True)]
