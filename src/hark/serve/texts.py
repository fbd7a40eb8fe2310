"""Loaded models of one stack: a decoder continues the prompts of all clients, an encoder turns their texts into
vectors."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from hark import configfile
from hark.bundle import CONFIG
from hark.config import ModelConfig, Shape
from hark.errors import UserError, require
from hark.models import InstalledModel
from hark.serve.running import ModelThread
from hark.tasks.generate import GeneratedText, GenerateOptions, Generator, OngoingText
from hark.tasks.text_writer import TokenChance
from hark.weights import Array

if TYPE_CHECKING:
    from hark.tasks.encoder import LoadedEncoder

FULL_BATCH = 64
"""Texts in a batch of an encoder at which no further request is added to it."""


@dataclass(frozen=True)
class Completion:
    """A text that continues a prompt."""

    generated: GeneratedText
    prompt_tokens: int
    tokens: int
    chances: list[TokenChance] | None = None
    """Of each token, if they were asked for; with an echo, those of the prompt first."""


class RunningGenerator(ModelThread):
    """Continues prompts: the engine steps all texts together, whoever asked for them."""

    def __init__(self, name: str, generator: Generator) -> None:
        super().__init__(name)
        self.generator = generator
        self._texts: dict[OngoingText, tuple[Future[Completion], Callable[[str], object] | None]] = {}
        self.start()

    @property
    def working(self) -> bool:
        return bool(self._texts)

    @property
    def queued(self) -> int:
        return len(self.generator.engine.intake)

    @property
    def decoding(self) -> int:
        return max(0, len(self._texts) - self.queued)

    def submit(
        self,
        prompt: str,
        options: GenerateOptions,
        alternatives: int | None = None,
        on_piece: Callable[[str], object] | None = None,
        echo: bool = False,
    ) -> Future[Completion]:
        """Begin to continue a prompt. Cancelling the future frees its place. `on_piece` is called in the model's thread
        with each piece of the text; `alternatives`: how many to find for each token, with `echo` also of the prompt."""
        future: Future[Completion] = self._new_future()

        def begin() -> None:
            text = self.generator.start(prompt, options, on_piece is not None, alternatives, echo)
            self._texts[text] = future, on_piece
            # Called at once if the future was cancelled meanwhile.
            future.add_done_callback(partial(self._cancel, text))

        self._inbox.put(partial(self._guard, future, begin))
        return future

    def score(self, prompt: str, alternatives: int | None) -> Future[Completion]:
        """Find what is told of the tokens of a prompt, which is not continued."""
        future: Future[Completion] = self._new_future()

        def run() -> None:
            chances = self.generator.score(prompt, alternatives or 0)
            told = None if alternatives is None else chances
            if future.set_running_or_notify_cancel():
                future.set_result(Completion(GeneratedText("", "length", 0), len(chances), 0, told))

        self._inbox.put(partial(self._guard, future, run))
        return future

    def _cancel(self, text: OngoingText, future: Future[Completion]) -> None:
        if future.cancelled():
            self._inbox.put(partial(self._drop, text))

    def _drop(self, text: OngoingText) -> None:
        if self._texts.pop(text, None) is not None:
            self.generator.cancel(text)
            self.step()  # frees its place

    def step(self) -> None:
        for text, piece in self.generator.step():
            future, on_piece = self._texts[text]
            if piece and on_piece is not None:
                on_piece(piece)
            if text.done:
                del self._texts[text]
                self._guard(future, partial(complete, future, text))

    def free(self) -> None:
        self.generator.close()


def complete(future: Future[Completion], text: OngoingText) -> None:
    """Give a client its text, or the error of its prompt."""
    if text.error is not None:
        raise text.error
    chances = None if text.request.alternatives is None else text.chances()
    if future.set_running_or_notify_cancel():
        future.set_result(Completion(text.result(), text.prompt_tokens, text.writer.count, chances))


@dataclass(frozen=True)
class Embedded:
    """The vectors of texts, and the number of their tokens."""

    vectors: list[Array]
    tokens: int


class RunningEncoder(ModelThread):
    """Turns texts into vectors, in batches of several requests."""

    def __init__(self, name: str, encoder: "LoadedEncoder") -> None:
        super().__init__(name)
        self.encoder = encoder
        self._waiting: deque[tuple[Future[Embedded], list[list[int]]]] = deque()
        self.start()

    @property
    def working(self) -> bool:
        return bool(self._waiting)

    @property
    def queued(self) -> int:
        return sum(len(inputs) for _, inputs in tuple(self._waiting)) - self.decoding

    @property
    def decoding(self) -> int:
        """Texts of the next batch, if every request has one."""
        return min(len(self._waiting), FULL_BATCH)

    def embed(self, texts: Sequence[str]) -> Future[Embedded]:
        """Return the vectors of texts, those of `hark.tasks.embed`."""
        future: Future[Embedded] = self._new_future()
        self._inbox.put(partial(self._guard, future, partial(self._add, future, texts)))
        return future

    def _add(self, future: Future[Embedded], texts: Sequence[str]) -> None:
        encoded, longest = self.encoder.vocabulary.encode(texts), self.encoder.longest
        for number, ids in enumerate(encoded, 1):
            if len(ids) > longest:
                raise UserError(f"text {number} has {len(ids):,} tokens, but the model reads at most {longest:,}")
        self._waiting.append((future, [self.encoder.vocabulary.enclose(ids) for ids in encoded]))

    def step(self) -> None:
        from hark.tasks.embed import mean_vectors

        batch: list[tuple[Future[Embedded], list[list[int]]]] = []
        count = 0
        while self._waiting and count < FULL_BATCH:
            future, inputs = self._waiting.popleft()
            if future.set_running_or_notify_cancel():
                batch.append((future, inputs))
                count += len(inputs)
        vectors = self.encoder.run((each for _, inputs in batch for each in inputs), mean_vectors)
        for future, inputs in batch:
            future.set_result(Embedded([next(vectors) for _ in inputs], sum(map(len, inputs))))

    def free(self) -> None:
        del self.encoder


def open_text_model(model: InstalledModel, threads: int | None = None) -> ModelThread:
    """Load a model that translates no pairs, on a GPU if there is one."""
    if shape_of(model.folder) != "encoder":
        return RunningGenerator(model.name, Generator(model.folder, threads=threads))
    require("torch", "train", "embedding texts")
    from hark.tasks.encoder import LoadedEncoder

    return RunningEncoder(model.name, LoadedEncoder(model.folder, threads=threads))


@cache
def settings_of(folder: Path) -> ModelConfig:
    return configfile.load(folder / CONFIG).model


def shape_of(folder: Path) -> Shape:
    return settings_of(folder).shape
