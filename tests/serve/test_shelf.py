"""The shelf: loads on first use, evicts by least use, and never evicts a model with open work."""

import asyncio
import weakref
from concurrent.futures import Executor

import pytest

from hark.errors import UserError
from hark.models import InstalledModel
from hark.serve.bodies import Refusal
from hark.serve.running import RunningModel
from hark.serve.settings import ServeSettings
from hark.serve.shelf import OVERHEAD, Readiness, Shelf
from hark.translate.piece import Options
from tests.serve.stubs import Gate, installed, loaded, on_loop, shout
from tests.translate.stub import Stub

OPTIONS = Options(detect=False)


class Opened:
    """Opens models with stub engines, and remembers them."""

    def __init__(self, gated: bool = False) -> None:
        self.names: list[str] = []
        self.engines: dict[str, Stub] = {}
        self.gated = gated

    def __call__(self, model: InstalledModel, preparing: Executor) -> RunningModel:
        self.names.append(model.name)
        engine = self.engines[model.name] = Gate() if self.gated else Stub(shout)
        return RunningModel(model.name, loaded(engine, *model.pairs[0]), preparing)


@on_loop
async def test_a_model_is_loaded_once_at_first_use() -> None:
    opened = Opened()
    model = installed("en-de")
    shelf = Shelf([model, installed("de-en")], opener=opened)
    assert opened.names == []
    one, other = await asyncio.gather(shelf.take(model), shelf.take(model))
    assert one is other
    await shelf.close()
    assert opened.names == ["en-de"]
    assert opened.engines["en-de"].closed


@on_loop
async def test_the_least_recently_used_model_is_evicted() -> None:
    opened = Opened()
    one, two, three = models = [installed("en-de"), installed("de-en"), installed("en-fr")]
    shelf = Shelf(models, 2 * OVERHEAD, opened)
    await shelf.take(one)
    await shelf.take(two)
    await shelf.take(one)
    await shelf.take(three)
    assert [each.name for each in shelf.running] == ["en-de", "en-fr"]
    assert opened.engines["de-en"].closed
    await shelf.take(two)
    assert [each.name for each in shelf.running] == ["en-fr", "de-en"]
    await shelf.close()
    assert opened.names == ["en-de", "de-en", "en-fr", "de-en"]


@on_loop
async def test_a_model_with_open_work_is_not_evicted() -> None:
    opened = Opened(gated=True)
    one, two = models = [installed("en-de"), installed("de-en")]
    shelf = Shelf(models, OVERHEAD, opened)
    running = await shelf.take(one)
    future = running.submit("the cat", OPTIONS)
    with pytest.raises(Refusal) as refused:
        await shelf.take(two)
    assert (refused.value.status, refused.value.retry_after) == (503, 5)
    engine = opened.engines["en-de"]
    assert isinstance(engine, Gate)
    engine.opened = True
    assert (await asyncio.wrap_future(future)).text == "THE CAT"
    assert (await shelf.take(two)).name == "de-en"
    await shelf.close()


@on_loop
async def test_a_leased_model_is_not_evicted() -> None:
    opened = Opened()
    one, two = models = [installed("en-de"), installed("de-en")]
    shelf = Shelf(models, OVERHEAD, opened)
    async with shelf.lease(one) as running, shelf.lease(one) as again:
        assert running is again
        with pytest.raises(Refusal) as refused:
            await shelf.take(two)
        assert refused.value.status == 503
        assert shelf.is_loaded(one)
    async with shelf.lease(two):
        assert not shelf.is_loaded(one)
    await shelf.close()
    with pytest.raises(Refusal, match="shutting down"):
        await shelf.take(one)
    assert opened.names == ["en-de", "de-en"]


@on_loop
async def test_a_lease_that_cannot_be_had_is_released() -> None:
    opened = Opened(gated=True)
    one, two = models = [installed("en-de"), installed("de-en")]
    shelf = Shelf(models, OVERHEAD, opened)
    async with shelf.lease(one):
        with pytest.raises(Refusal):
            async with shelf.lease(two):
                raise AssertionError
    waiting = asyncio.create_task(shelf.lease(two).__aenter__())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await shelf.take(two)  # which goes on loading
    async with shelf.lease(one):
        assert not shelf.is_loaded(two)
    await shelf.close()


@on_loop
async def test_a_failed_model_is_loaded_again() -> None:
    opened = Opened()
    model = installed("en-de")
    shelf = Shelf([model], opener=opened)
    (await shelf.take(model)).failed = True
    assert not (await shelf.take(model)).failed
    await shelf.close()
    assert opened.names == ["en-de", "en-de"]


@on_loop
async def test_models_that_fit_are_loaded_at_start_with_progress() -> None:
    opened = Opened()
    models = [installed("en-de"), installed("de-en"), installed("en-fr")]
    shelf = Shelf(models, 2 * OVERHEAD, opened)
    assert shelf.readiness == Readiness(0, 2)
    assert not shelf.readiness.done
    await shelf.load_all()
    assert shelf.readiness == Readiness(2, 2)
    assert shelf.readiness.done
    await shelf.close()
    assert opened.names == ["en-de", "de-en"]


@on_loop
async def test_a_model_that_cannot_be_loaded_is_reported_and_others_work() -> None:
    opened = Opened()

    def opener(model: InstalledModel, preparing: Executor) -> RunningModel:
        if model.name == "en-de":
            raise UserError("en-de: damaged")
        return opened(model, preparing)

    shelf = Shelf([installed("en-de"), installed("de-en")], opener=opener)
    await shelf.load_all()
    assert shelf.readiness == Readiness(1, 1, "en-de: damaged")
    with pytest.raises(UserError):
        await shelf.take(installed("en-de"))
    await shelf.close()


def test_a_model_whose_directions_all_have_another_model_is_not_offered() -> None:
    own, shipped = installed("mine", ("en", "de")), installed("en-de")
    many = installed("many", ("en", "de"), ("fr", "de"))
    shelf = Shelf([own, shipped, many])
    assert [each.name for each in shelf.offered] == ["mine", "many"]
    assert shelf.readiness.total == 1  # models of several pairs are loaded at first use,
    assert Shelf([many]).readiness.total == 1  # unless there are no others
    assert shelf.pairs() == (("en", "de"), ("fr", "de"))


def test_a_folder_without_models_is_an_error(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UserError, match="no models"):
        Shelf.of(ServeSettings(models=tmp_path))


@on_loop
async def test_an_evicted_model_is_forgotten() -> None:
    """Its memory is given back only if nothing refers to it."""
    opened = Opened()
    one, two = models = [installed("en-de"), installed("de-en")]
    shelf = Shelf(models, OVERHEAD, opened)
    running = await shelf.take(one)
    await asyncio.wrap_future(running.submit("the cat", OPTIONS))
    seen = weakref.ref(running)
    del running
    await shelf.take(two)
    assert seen() is None
    await shelf.close()


@on_loop
async def test_busy_models_share_the_threads() -> None:
    class Counting(Gate):
        def __init__(self) -> None:
            super().__init__()
            self.threads: set[int] = set()

        def use_threads(self, threads: int) -> None:
            self.threads.add(threads)

    engines = {"en-de": Counting(), "de-en": Counting()}

    def opener(model: InstalledModel, preparing: Executor) -> RunningModel:
        return RunningModel(model.name, loaded(engines[model.name], *model.pairs[0]), preparing, 4)

    one, two = models = [installed("en-de"), installed("de-en")]
    shelf = Shelf(models, opener=opener)
    first = (await shelf.take(one)).submit("the cat", OPTIONS)
    while 4 not in engines["en-de"].threads:
        await asyncio.sleep(0.001)
    second = (await shelf.take(two)).submit("the cat", OPTIONS)
    while 2 not in engines["en-de"].threads or 2 not in engines["de-en"].threads:
        await asyncio.sleep(0.001)
    for each in engines.values():
        each.opened = True
    await asyncio.gather(asyncio.wrap_future(first), asyncio.wrap_future(second))
    await shelf.close()
    assert engines["de-en"].threads <= {2, 4}
