"""The second look in the server: by the reverse model if it is loaded, and never at the expense of a request."""

from hark.serve.bodies import Refusal
from hark.serve.service import Job
from hark.translate.second_look import NLL
from tests.loops import run
from tests.serve.stubs import using
from tests.translate.stub import Stub, hypothesis

TEXT = "The cat sees a wrong house."
JOB = Job((TEXT, "The cat sees a small house."), "en", "de")


def flags(load_reverse: bool, break_reverse: bool = False) -> list[tuple[str, ...]]:
    """The warnings of the two texts of the job; the reverse model is surprised by one of them."""

    def nll(pairs: list[tuple[str, str]], **_: object) -> list[NLL]:
        if break_reverse:
            raise Refusal(500, "broken")
        return [NLL(3.0, 9.0) if source == TEXT else NLL(0.1, 1.0) for _, source in pairs]

    async def main() -> list[tuple[str, ...]]:
        engine = Stub(lambda text, request: hypothesis(text, request, score=-3.0))
        async with using("en-de", "de-en", engine=lambda _: engine) as each:
            if load_reverse:
                model = next(model for model in each.shelf.offered if model.pairs == (("de", "en"),))
                running = await each.shelf.take(model)
                running.loaded.nll = nll  # type: ignore[method-assign, assignment]
            return [done.translation.doubtful for done in await each.translate(JOB)]

    return run(main())


def test_a_loaded_reverse_model_checks_translations() -> None:
    assert flags(load_reverse=True) == [("unsure",), ()]


def test_no_model_is_loaded_for_a_second_look() -> None:
    assert flags(load_reverse=False) == [(), ()]


def test_a_broken_reverse_model_costs_no_translation() -> None:
    assert flags(load_reverse=True, break_reverse=True) == [(), ()]
