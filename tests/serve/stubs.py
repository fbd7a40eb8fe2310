"""Models of the server without a network: they answer with a function of the text."""

from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from hark.config import Config, DataConfig
from hark.engine.interface import Answer, Engine
from hark.models import InstalledModel
from hark.serve.running import RunningModel
from hark.serve.service import Service
from hark.serve.settings import ServeSettings
from hark.serve.shelf import Shelf
from hark.translate.load import Loaded
from hark.translate.translator import LanguageChoice, Translator
from tests.loops import run
from tests.translate.stub import Stub, formal_tokenizer, tokenizer

PREPARING = ThreadPoolExecutor(1)


def on_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an asynchronous test on an event loop of its own."""

    @wraps(test)
    def run_test(**fixtures: Any) -> None:
        run(test(**fixtures))

    return run_test


def installed(name: str, *pairs: tuple[str, str]) -> InstalledModel:
    return InstalledModel(Path(f"/nowhere/{name}"), pairs or (cast(tuple[str, str], tuple(name.split("-"))),))


def loaded(engine: Engine, source: str = "en", target: str = "de") -> Loaded:
    """What the server needs of a loaded model."""
    config = Config(data=DataConfig(source=source, target=target))
    vocabulary = engine.vocabulary if isinstance(engine, Stub) else tokenizer()
    translator = Translator(engine, vocabulary, vocabulary, config)
    stub: Any = SimpleNamespace(
        engine=engine,
        translator=translator,
        config=config,
        languages=LanguageChoice(tokenizer().scheme, (source, target)),
        facts=SimpleNamespace(pairs=((source, target),)),
        nll=lambda pairs, **_: [None] * len(pairs),
        close=engine.close,
    )
    return cast(Loaded, stub)


def running(engine: Engine, name: str = "en-de") -> RunningModel:
    return RunningModel(name, loaded(engine, *name.split("-")), PREPARING)


def shout(text: str, _: object) -> str:
    return text.upper()


def service(
    *names: str, engine: Callable[[str], Engine] = lambda _: Stub(shout), memory: int | None = None, **settings: Any
) -> Service:
    """A service with models of these names, such as en-de."""

    def opener(model: InstalledModel, preparing: Executor) -> RunningModel:
        source, target = model.pairs[0]
        return RunningModel(model.name, loaded(engine(model.name), source, target), preparing)

    offered = [installed(name) for name in names or ("en-de",)]
    return Service(ServeSettings(**settings), Shelf(offered, memory, opener))


@asynccontextmanager
async def using(*names: str, **given: Any) -> AsyncIterator[Service]:
    """A service that is closed at the end."""
    each = service(*names, **given)
    try:
        yield each
    finally:
        await each.close()


def formal_service(folder: Path, *plain: str) -> tuple[Service, list[str]]:
    """A service with models of these names, and then en-de and de-en that can choose the form of address; and what
    these are asked. They answer with what they are asked, without the symbol."""
    asked: list[str] = []

    def opener(model: InstalledModel, preparing: Executor) -> RunningModel:
        engine = Stub(lambda text, _: text.split("> ")[-1])
        if model.folder.parent == folder:
            engine.vocabulary, engine.asked = formal_tokenizer(), asked
        return RunningModel(model.name, loaded(engine, *model.pairs[0]), preparing)

    able = []
    for source, target in (("en", "de"), ("de", "en")):
        place = folder / f"formal-{source}-{target}"
        place.mkdir()
        (place / "tokenizer.model").write_bytes(formal_tokenizer().model)
        # Both pairs, as a model of several has them: otherwise it would be shadowed by plain models of one pair.
        able.append(InstalledModel(place, ((source, target), (f"{source}-x", target))))
    return Service(ServeSettings(), Shelf([*map(installed, plain), *able], None, opener)), asked


class Gate(Stub):
    """Answers nothing until it is opened."""

    def __init__(self, batch_size: int = 5) -> None:
        super().__init__(shout, batch_size)
        self.opened = False

    def step(self) -> list[tuple[int, Answer]]:
        rejected, cancelled = self.intake.changes()
        self.held = [each for each in self.held if each[0] not in cancelled]
        if self.opened:
            return [*rejected, *super().step()]
        while len(self.held) < self.batch_size and (first := self.intake.first()) is not None:
            self.intake.take(first[0])
            self.held.append(first)
        return list(rejected)
