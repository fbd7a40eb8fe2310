"""The tab to write in, in a real browser, with untrained models: nonsense, but everything else is real."""

import json
import math
import re
import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from hark.models import shipped_folder
from hark.serve.admission import add_key
from hark.serve.settings import ServeSettings
from hark.serve.texts import RunningGenerator
from hark.tasks.generate import Generator
from tests.inspect.browser import resize
from tests.serve.conftest import TestServer, start, wait_until_ready
from tests.serve.opened_page import OpenedPage, opened
from tests.serve.test_openai import Gate, wait_for
from tests.serve.test_page_browser import CONTRASTS
from tests.tasks.decoders import make_one_stack

BEGINNING = "Once upon a time"
AREA = "#panel-write textarea"
READY = "#panel-write .main:not(:disabled)"
STORED = {"tokens": 12, "temperature": 0}
RARE = (0.3, 0.1, 0.01, 0.001)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("models")
    make_one_stack(place / "gpt")
    make_one_stack(place / "encoders" / "bert", "encoder")
    return place


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[TestServer]:
    started = wait_until_ready(start(ServeSettings(models=folder)))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def generator(folder: Path) -> Generator:
    return Generator(folder / "gpt", "cpu")


@pytest.fixture
def page(browser: Any, server: TestServer) -> Iterator[OpenedPage]:
    """The page with a beginning, and settings of an earlier visit: always the likeliest tokens."""
    with opened(browser, server) as page:
        page.goto(ready=READY)
        page.page.evaluate("(values) => localStorage.setItem('hark.write', JSON.stringify(values))", STORED)
        page.page.reload()
        page.see(READY)
        page.page.keyboard.insert_text(BEGINNING)
        yield page
        assert page.wrong == []


def text(page: OpenedPage) -> str:
    return str(page.page.input_value(AREA))


def go_on(page: OpenedPage, act: Callable[[OpenedPage], object] | None = None) -> str:
    """Let the model go on; return all of the text."""
    (act or (lambda page: page.page.keyboard.press("Control+Enter")))(page)
    page.see("#panel-write .source[aria-busy=false]")
    return text(page)


def greedy(generator: Generator, prompt: str, tokens: int = 12) -> str:
    ((found,),) = generator.generate([prompt], max_tokens=tokens, temperature=0)
    return prompt + found.text


def seeded(page: OpenedPage, seed: int) -> None:
    """Have texts drawn with this seed and those after it, instead of random ones."""
    seeds = count(seed)

    def add_seed(route: Any) -> None:
        body = route.request.post_data_json
        route.continue_(post_data=body | {"seed": next(seeds)} if body.get("stream") else body)

    page.route("**/v1/completions", add_seed)


def score(server: TestServer, prompt: str) -> dict[str, Any]:
    """What the server tells of the tokens of a text."""
    values = {"model": "gpt", "prompt": prompt, "echo": True, "max_tokens": 0, "logprobs": 10}
    found: dict[str, Any] = server.post("/v1/completions", json=values).json()["choices"][0]["logprobs"]
    return found


def listed(page: OpenedPage) -> list[str]:
    return [str(each) for each in page.page.locator(".token .text").all_inner_texts()]


def visible(token: str) -> str:
    return token.replace(" ", "␣")


def best(chances: dict[str, float]) -> list[str]:
    return [visible(each) for each in sorted(chances, key=lambda token: -chances[token])[:10]]


def set_caret(page: OpenedPage, at: int) -> None:
    page.page.evaluate(f"(at) => document.querySelector('{AREA}').setSelectionRange(at, at)", at)


def test_a_page_without_translators_opens_with_the_text_to_write(page: OpenedPage, generator: Generator) -> None:
    assert page.page.locator("[role=tab]").all_inner_texts() == ["Write"]
    assert page.page.locator("#panel-translate").is_hidden()
    page.watch()
    whole = go_on(page)
    assert whole == greedy(generator, BEGINNING)
    written = page.page.locator(".behind .written").all_text_contents()
    assert written == [whole.removeprefix(BEGINNING)]
    assert re.search(r"12 tokens · [\d.]+ tokens/s", page.page.inner_text(".under .count"))
    assert page.outside() == []
    assert not any("upon" in url for url in page.requests)
    assert go_on(page, lambda page: page.page.click(READY)) == greedy(generator, whole)


def test_text_comes_piece_by_piece_until_it_is_stopped(
    page: OpenedPage, server: TestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    [running] = server.service.shelf.running
    assert isinstance(running, RunningGenerator)
    before, cancelled = text(page), server.service.counts.cancelled
    page.page.fill("input[type=number]", "40")
    page.page.focus(AREA)
    gate = Gate(running.generator.engine, monkeypatch)
    gate.allowed.release(8)
    page.page.keyboard.press("Control+Enter")
    page.until(f"(length) => document.querySelector('{AREA}').value.length > length", len(before))
    assert server.service.jobs == 1
    assert page.page.inner_text("#panel-write .main") == "Stop"
    page.page.keyboard.press("Escape")
    page.see("#panel-write .source[aria-busy=false]")
    gate.allowed.release(1000)
    wait_for(lambda: server.service.counts.cancelled == cancelled + 1)
    assert server.service.jobs == running.open == 0
    assert text(page).startswith(before)
    assert len(text(page)) > len(before)
    assert page.page.evaluate(f"document.activeElement === document.querySelector('{AREA}')")
    whole = text(page)
    page.page.keyboard.press("Control+z")
    assert text(page) == before == BEGINNING
    page.page.keyboard.press("Control+Shift+z")
    assert text(page) == whole
    page.page.keyboard.press("Control+z")
    page.page.keyboard.press("Control+z")
    assert text(page) == ""


def test_what_the_model_wrote_can_be_edited(page: OpenedPage) -> None:
    whole = go_on(page)
    middle = (len(BEGINNING) + len(whole)) // 2
    set_caret(page, middle)
    page.page.keyboard.insert_text("ZZZ")
    assert text(page) == f"{whole[:middle]}ZZZ{whole[middle:]}"
    page.until("() => document.querySelectorAll('.behind .written').length === 2")
    assert page.page.locator(".behind .written").all_text_contents() == [whole[len(BEGINNING) : middle], whole[middle:]]
    assert page.page.locator(".again").is_disabled()
    page.page.evaluate("dispatchEvent(new Event('pagehide'))")
    page.page.reload()  # the text is kept in this tab, with who wrote what
    page.see(READY)
    assert text(page) == f"{whole[:middle]}ZZZ{whole[middle:]}"
    assert page.page.locator(".behind .written").count() == 2


def test_again_writes_something_else(page: OpenedPage) -> None:
    assert page.page.locator(".again").is_disabled()
    seeded(page, 1)
    page.page.locator("input[type=range]").first.fill("1.5")
    first = go_on(page)  # from anywhere in the view
    second = go_on(page, lambda page: page.page.click(".again"))
    assert first != second
    assert second.startswith(BEGINNING)
    page.page.click(".undo")
    assert text(page) == first
    page.page.reload()
    page.see(READY)
    assert page.page.locator("output").first.inner_text() == "1.50"
    assert page.page.input_value("input[type=number]") == "12"


def test_choosing_another_token_goes_on_from_it(page: OpenedPage, server: TestServer, generator: Generator) -> None:
    whole = go_on(page)
    scored = score(server, whole)
    place = next(at for at, offset in enumerate(scored["text_offset"]) if offset > len(BEGINNING) + 4)
    offset = scored["text_offset"][place]
    set_caret(page, offset)
    page.see(".token.own")
    assert listed(page)[:10] == best(scored["top_logprobs"][place])
    assert page.page.inner_text(".token.own .text") == visible(scored["tokens"][place])
    assert page.page.locator(".behind .here").text_content() == scored["tokens"][place]
    chosen = page.page.locator(".token:not(.own):not(:disabled)").nth(1)
    token = chosen.locator(".text").inner_text().replace("␣", " ")
    assert go_on(page, lambda _: chosen.click()) == greedy(generator, whole[:offset] + token)
    page.page.click(".undo")
    assert text(page) == whole


def test_the_next_token_can_be_seen_and_taken_by_keyboard(page: OpenedPage, server: TestServer) -> None:
    page.page.keyboard.press("Alt+ArrowDown")
    page.see(".token:focus")
    values = {"model": "gpt", "prompt": BEGINNING, "max_tokens": 1, "temperature": 0, "logprobs": 10}
    found = server.post("/v1/completions", json=values).json()["choices"][0]["logprobs"]["top_logprobs"][0]
    assert listed(page) == best(found)
    page.page.keyboard.press("ArrowDown")
    chosen = page.page.locator(".token:focus .text").inner_text().replace("␣", " ")
    assert chosen == page.page.locator(".token:not(:disabled) .text").nth(1).inner_text().replace("␣", " ")
    page.page.keyboard.press("Shift+Enter")  # only this token
    page.until(f"(text) => document.querySelector('{AREA}').value === text", BEGINNING + chosen)
    page.see(".token:focus")  # those that follow it
    page.page.keyboard.press("ArrowLeft")
    page.see(".token.own:focus")
    scored = score(server, BEGINNING + chosen)
    assert listed(page)[:10] == best(scored["top_logprobs"][-1])
    page.page.keyboard.press("Escape")
    assert page.page.evaluate(f"document.activeElement === document.querySelector('{AREA}')")


def test_unlikely_tokens_are_shaded(page: OpenedPage, server: TestServer) -> None:
    whole = go_on(page)
    page.page.click("text=Shade surprises")
    page.see("[class^=rare]")
    scored = score(server, whole)
    values: dict[int, float] = {}  # by place: tokens that are parts of a character have the same
    for offset, value in zip(scored["text_offset"], scored["token_logprobs"], strict=True):
        values[offset] = values.get(offset, 0.0) + value
    expected = [
        (whole[start:end], sum(math.exp(value) < limit for limit in RARE))
        for (start, value), end in zip(values.items(), [*list(values)[1:], len(whole)], strict=True)
    ]
    found = page.page.evaluate("""() => [...document.querySelectorAll("[class*=rare]")].map((each) =>
      [each.textContent, Number(/rare(.)/.exec(each.className)[1])])""")
    assert [tuple(each) for each in found] == [each for each in expected if each[1]]
    page.page.focus(AREA)
    page.page.keyboard.insert_text(" The house")
    go_on(page)  # and so is what is written next
    page.until("(before) => document.querySelectorAll('[class*=rare]').length > before", len(found))


def test_the_end_of_a_long_text_is_sent(page: OpenedPage) -> None:
    long = " ".join(f"the cat {number} sat on the mat" for number in range(40))
    page.page.fill(AREA, long)
    sent: list[str] = []
    page.page.on("request", lambda each: sent.append(each.post_data) if each.method == "POST" else None)
    whole = go_on(page)
    prompts = [json.loads(each)["prompt"] for each in sent]
    assert all(long.endswith(each) for each in prompts)
    assert len(whole) > len(long)
    note = page.page.inner_text(".under .count")
    assert f"without the first {len(long) - len(prompts[-1]):,} characters" in note
    page.page.keyboard.press("Alt+ArrowDown")
    page.see(".token")
    assert whole.endswith(json.loads(sent[-1])["prompt"])
    assert len(json.loads(sent[-1])["prompt"]) < len(whole)
    page.wrong.clear()  # Chromium notes answers with an error


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "The server does not answer. Is hark serve still running?"),
        ((503, {"message": "too many requests are waiting; try again"}), "Too many requests are waiting; try again."),
        ((404, {"message": "the model gpt does not exist"}), "The model gpt does not exist."),
    ],
)
def test_failures_leave_the_text_and_a_way_out(
    page: OpenedPage, generator: Generator, answer: Any, message: str
) -> None:
    def respond(route: Any) -> None:
        if answer is None:
            route.abort()
        else:
            route.fulfill(status=answer[0], json={"error": {**answer[1], "type": "x", "param": None, "code": None}})

    page.route("**/v1/completions", respond)
    assert go_on(page) == BEGINNING
    assert page.page.inner_text(".failure p") == message
    page.page.unroute_all()
    page.page.click(".failure .retry")
    page.until(f"(length) => document.querySelector('{AREA}').value.length > length", len(BEGINNING))
    page.see("#panel-write .source[aria-busy=false]")
    assert text(page) == greedy(generator, BEGINNING)
    page.wrong.clear()  # Chromium notes answers with an error


def test_a_stream_that_breaks_off_keeps_what_came(page: OpenedPage) -> None:
    piece = json.dumps({"choices": [{"text": " there", "index": 0, "logprobs": None, "finish_reason": None}]})
    error = json.dumps({"error": {"message": "the engine failed", "type": "server_error", "param": None, "code": None}})
    body = f"data: {piece}\n\ndata: {error}\n\n"
    page.route("**/v1/completions", lambda route: route.fulfill(content_type="text/event-stream", body=body))
    assert go_on(page) == BEGINNING + " there"
    assert page.page.inner_text(".failure p") == "The engine failed."


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_and_narrow_screens(page: OpenedPage, scheme: Any) -> None:
    page.page.emulate_media(color_scheme=scheme)
    go_on(page)
    page.page.click("text=Shade surprises")
    page.page.focus(AREA)
    page.page.keyboard.press("Alt+ArrowDown")
    page.see(".token:focus")
    checked = [AREA, ".how label", ".how output", ".under .count", ".hint", ".token .text", ".token .percent", ".sign"]
    for selector, contrast in page.page.evaluate(CONTRASTS, checked):
        assert contrast >= 4.5, selector
    ink = page.page.evaluate(f"getComputedStyle(document.querySelector('{AREA}')).color")
    for level in range(1, 5):  # the text lies above its shade
        page.page.evaluate(
            """([level, ink]) => {
          const shade = Object.assign(document.createElement("span"), { className: `rare${level}`, id: "shade" });
          shade.style.color = ink;
          document.getElementById("shade")?.remove();
          document.querySelector(".behind").append(shade);
        }""",
            [level, ink],
        )
        [[_, contrast]] = page.page.evaluate(CONTRASTS, ["#shade"])
        assert contrast >= 4.5, level
    for width in (320, 390, 768):
        resize(page.page, width, 800)
        assert page.overflow() <= 0, width


def test_everything_has_a_name(page: OpenedPage) -> None:
    page.page.keyboard.press("Alt+ArrowDown")
    page.see(".token:focus")
    nameless = page.page.evaluate("""() => {
      const panel = document.getElementById("panel-write");
      const named = (each) => each.ariaLabel || each.innerText?.trim() || each.labels?.[0]?.innerText.trim();
      return [...panel.querySelectorAll("button, input, select, textarea")].filter((each) => !named(each)).map(String);
    }""")
    assert nameless == []
    assert re.fullmatch(r".+, [\d<>. ]+%", page.page.locator(".token").first.get_attribute("aria-label") or "")


def test_tabs_beside_translators(browser: Any, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "gpt", tmp_path / "gpt")
    shipped = next(each for each in shipped_folder().iterdir() if (each / "manifest.json").exists())
    shutil.copytree(shipped, tmp_path / shipped.name)
    server = start(ServeSettings(models=tmp_path))
    try:
        with opened(browser, server) as page:
            page.goto(ready="#panel-translate .field textarea")
            assert page.page.locator("[role=tab]").all_inner_texts() == ["Translate", "Document", "Write"]
            page.page.click("#tab-write")
            page.see(READY)
            assert page.page.url.endswith("#write")
            page.drop("story.txt", b"It was a dark night.")
            page.until(f"() => document.querySelector('{AREA}').value === 'It was a dark night.'")
            page.drop("story.docx", b"PK", "application/octet-stream")
            page.see("#announcement .failure")
            assert page.wrong == []
    finally:
        server.stop()


def test_a_key_is_asked_for(browser: Any, folder: Path, generator: Generator, tmp_path: Path) -> None:
    def drawn(seed: int) -> str:
        ((found,),) = generator.generate([""], max_tokens=60, temperature=0.8, top_p=0.95, seed=seed)
        return found.text

    key, seed = add_key(tmp_path / "keys.txt"), next(filter(drawn, count()))
    server = wait_until_ready(start(ServeSettings(models=folder, api_keys=tmp_path / "keys.txt")))
    try:
        with opened(browser, server) as page:
            page.goto(ready="#panel-write form.key")
            page.page.fill("form.key input", key)
            page.page.click("form.key .button")
            page.see(READY)
            assert page.page.locator(".failure").count() == 0
            seeded(page, seed)
            assert go_on(page, lambda page: page.page.click(READY)) == drawn(seed)  # also without a beginning
    finally:
        server.stop()


def test_a_server_with_encoders_alone_says_what_is_missing(browser: Any, folder: Path) -> None:
    server = wait_until_ready(start(ServeSettings(models=folder / "encoders")))
    try:
        with opened(browser, server) as page:
            page.goto(ready="#panel-translate .nothing")
            assert "no model that translates or continues text" in page.page.inner_text("#panel-translate")
            assert page.page.locator("[role=tab]").count() == 0
            assert page.wrong == []
    finally:
        server.stop()
