"""The second look in the server: by the reverse model if it is loaded, and never at the expense of a request."""

from hark.serve.refusal import Refusal
from hark.serve.service import Job, Service
from hark.serve.settings import ServeSettings
from hark.serve.shelf import Shelf
from tests.loops import run as run_in_thread

TEXT = "We have exorcised the ghosts of the past."
JOB = Job((TEXT, "Good morning."), "en", "de")


def flags(load_reverse: bool, break_reverse: bool = False) -> list[tuple[str, ...]]:
    """The warnings of the two texts of the job."""

    async def main() -> list[tuple[str, ...]]:
        settings = ServeSettings()
        service = Service(settings, Shelf.of(settings))
        try:
            if load_reverse:
                model = next(each for each in service.shelf.offered if each.pairs == (("de", "en"),))
                running = await service.shelf.take(model)
                if break_reverse:
                    running.loaded.surprise = fail  # type: ignore[method-assign]
            return [each.translation.doubtful for each in await service.translate(JOB)]
        finally:
            await service.close()

    return run_in_thread(main())


def fail(*_: object, **__: object) -> list[float | None]:
    raise Refusal(500, "broken")


def test_a_loaded_reverse_model_checks_translations() -> None:
    assert flags(load_reverse=True) == [("unsure",), ()]


def test_no_model_is_loaded_for_a_second_look() -> None:
    assert flags(load_reverse=False) == [(), ()]


def test_a_broken_reverse_model_costs_no_translation() -> None:
    assert flags(load_reverse=True, break_reverse=True) == [(), ()]
