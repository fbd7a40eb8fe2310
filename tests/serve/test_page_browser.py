"""The page in a real browser, with the models that come with hark."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hark.serve.service import Service
from tests.inspect.browser import resize
from tests.serve import stubs
from tests.serve.conftest import StartServer, TestServer
from tests.serve.opened_page import OpenedPage, opened
from tests.translate.stub import Stub

TEXT = "The 🐈 sleeps. I gave 🙂 my friend the old letter yesterday."  # characters beyond 16 bits shift offsets
PHONES = (360, 390, 768)
"""Their widths in pixels."""
CONTRASTS = """(selectors) => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgb = (colour, under) => {
    canvas.fillStyle = under; canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (values) => values
    .map((each) => each / 255).map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4))
    .reduce((sum, each, at) => sum + each * [0.2126, 0.7152, 0.0722][at], 0);
  const backOf = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const { backgroundColor } = getComputedStyle(each);
      if (!/(, 0\\)|transparent)$/.test(backgroundColor)) return backgroundColor;
    }
    return "white";
  };
  return selectors.map((selector) => {
    const element = document.querySelector(selector);
    const back = rgb(backOf(element), "white");
    const front = rgb(getComputedStyle(element).color, `rgb(${back})`);
    const [one, two] = [light(front), light(back)].sort((a, b) => b - a);
    return [selector, (one + 0.05) / (two + 0.05)];
  });
}"""


PLACES = """(selector) => [...document.querySelectorAll(selector)].map((each) => {
  const { left, top, width, height } = each.getBoundingClientRect();
  return [each.innerText, left + width / 2, top + height / 2];
})"""
TEXTS = "(selector) => [...document.querySelectorAll(selector)].map((each) => each.innerText)"


@pytest.fixture
def new_page(browser: Any, server: TestServer) -> Iterator[OpenedPage]:
    """The page at a first visit."""
    with opened(browser, server, stay=True) as page:
        yield page.goto()


@pytest.fixture
def page(browser: Any, server: TestServer) -> Iterator[OpenedPage]:
    """The page in its first state. It may know the translations of other tests: loading it anew would take more than
    most tests do."""
    with opened(browser, server, again=True, stay=True) as page:
        yield page.start_over()


def one_phrase(**settings: Any) -> Service:
    """A service that needs no models, for servers with other settings."""
    answers = {"Good morning!": "Guten Morgen!"}
    return stubs.service("en-de", engine=lambda _: Stub(lambda text, _: answers[text]), **settings)


def answer_with(page: OpenedPage, *sentences: dict[str, Any]) -> None:
    """Answer the next translations with made-up sentences."""
    blank = {"source_start": 0, "start": 0, "score": -0.5, "flags": [], "warnings": [], "links": [], "alternatives": []}
    text = " ".join(each["text"] for each in sentences)
    translation = {
        "text": text,
        "source": "en",
        "target": "de",
        "model": "m",
        "sentences": [blank | s for s in sentences],
    }
    page.route("**/api/v1/translate", lambda route: route.fulfill(json={"translations": [translation]}))


def test_typing_translates_and_nothing_leaves_the_server(browser: Any, server: TestServer) -> None:
    with opened(browser, server, stay=True) as page:
        page.watch().goto()
        page.page.locator(".field textarea").press_sequentially("Good morning!")
        page.wait()
        assert page.result == "Guten Morgen!"
        assert page.page.locator("#panel-translate .from option:checked").inner_text() == "English (detected)"
        page.type("Where is the station?\n\nGood night!")
        assert page.result == "Wo ist der Bahnhof?\n\nGute Nacht!"
        assert page.outside() == []
        assert not any("station" in url or "morning" in url for url in [*page.requests, page.page.url])
        assert page.wrong == []


def test_a_change_in_one_paragraph_translates_no_other_again(new_page: OpenedPage) -> None:
    new_page.type("Good morning!\n\nGood night!")
    new_page.watch()
    with new_page.page.expect_request("**/api/v1/translate") as sent:
        new_page.type("Good morning!\n\nGood evening!")
    assert sent.value.post_data_json["text"] == ["Good evening!"]
    assert [url for url in new_page.requests if "translate" in url] == [sent.value.url]
    assert new_page.result == "Guten Morgen!\n\nGuten Abend!"


def test_hovering_a_word_lights_up_its_words_on_the_other_side(page: OpenedPage, server: TestServer) -> None:
    page.type(TEXT)
    values = {"text": TEXT, "source": "en", "target": "de", "nbest": 4, "align": True}
    (found,) = server.post("/api/v1/translate", json=values).json()["translations"]
    expected: dict[str, str] = {}
    back: dict[str, list[str]] = {}
    for each in found["sentences"]:
        for (s0, s1), (t0, t1), _ in each["links"]:
            source, word = each["source"][s0:s1], each["text"][t0:t1]
            expected[word] = source
            back.setdefault(source, []).append(word)
    assert len(expected) > 5
    hovered = 0
    for at, (word, x, y) in enumerate(page.page.evaluate(PLACES, ".result .word")):
        if word not in expected:
            continue
        page.page.mouse.move(x, y)
        page.see(f".result [data-word='{at}'].here")
        assert page.page.evaluate(TEXTS, ".behind .tied") == [expected[word]], word
        hovered += 1
    assert hovered > 5
    sources = page.page.evaluate(PLACES, ".behind .word")
    for source, written in back.items():
        _, x, y = next(place for place in sources if place[0] == source)
        page.page.mouse.move(x, y)
        page.until("(word) => document.querySelector('.behind .here')?.textContent === word", source)
        assert page.page.evaluate(TEXTS, ".result .tied") == written
    page.page.mouse.move(5, 5)
    page.miss(".tied")
    assert page.wrong == []


def test_the_lit_words_lie_exactly_behind_the_typed_ones(page: OpenedPage) -> None:
    """The copy behind the field must wrap as the field does, or the wrong place lights up."""
    page.type("A long text that wraps. " * 30 + "\n\nThe last paragraph ends here.\n")
    size = page.page.evaluate(
        """() => ['.field textarea', '.behind'].map((each) => {
          const { left, top, width, height } = document.querySelector(each).getBoundingClientRect();
          return [left, top, width, height].map(Math.round);
        })"""
    )
    assert size[0] == size[1]
    assert page.page.eval_on_selector(".field textarea", "(area) => area.scrollHeight - area.clientHeight") <= 1


def test_swap_exchanges_languages_and_texts(page: OpenedPage) -> None:
    page.type("The house is old.")
    german = page.result
    page.page.click("#panel-translate .swap")
    page.until("(text) => document.querySelector('.field textarea').value === text", german)
    page.wait()
    assert page.page.input_value("#panel-translate .from") == "de"
    assert page.page.input_value("#panel-translate .into") == "en"
    assert "house" in page.result


def test_text_in_the_target_language_turns_the_direction(page: OpenedPage) -> None:
    page.type("Ich habe gestern einen langen Brief an meine Freundin geschrieben.")
    assert page.page.locator("#panel-translate .from option:checked").inner_text() == "German (detected)"
    assert page.page.input_value("#panel-translate .into") == "en"
    assert "letter" in page.result


@pytest.mark.parametrize(
    ("word", "translation"), [("Hund", "dog"), ("ja", "Yes"), ("cat", "Katze"), ("danke", "Thank you")]
)
def test_a_word_that_the_detector_cannot_tell_is_tried_both_ways(page: OpenedPage, word: str, translation: str) -> None:
    page.type(word)
    assert page.result == translation


def test_an_error_keeps_the_text_and_retry_works(new_page: OpenedPage) -> None:
    new_page.type("Good morning!")
    problem = {"error": {"message": "too many requests are waiting; try again", "status": 503}}
    new_page.route("**/api/v1/translate", lambda route: route.fulfill(status=503, json=problem))
    new_page.page.fill(".field textarea", "Good evening!")
    new_page.see(".failure")
    assert new_page.page.inner_text(".failure p") == "Too many requests are waiting; try again."
    assert new_page.text == "Good evening!"
    assert new_page.result == "Guten Morgen!"  # the last good one, faded
    new_page.page.unroute("**/api/v1/translate")
    new_page.page.click(".failure .retry")
    new_page.miss(".failure")
    assert new_page.result == "Guten Abend!"
    new_page.context.set_offline(True)
    new_page.page.fill(".field textarea", "Good night!")
    new_page.see(".failure")
    assert "does not answer" in new_page.page.inner_text(".failure p")
    assert new_page.text == "Good night!"


def test_the_newest_text_wins(new_page: OpenedPage) -> None:
    held: list[Any] = []

    def hold(route: Any) -> None:
        if "Good morning" in route.request.post_data:
            held.append(route)  # never answered
        else:
            route.continue_()

    new_page.route("**/api/v1/translate", hold)
    with new_page.page.expect_request("**/api/v1/translate"):
        new_page.page.fill(".field textarea", "Good morning!")
    with new_page.page.expect_event("requestfailed"):  # the first request is aborted
        new_page.type("Good night!")
    assert len(held) == 1
    new_page.until("() => document.querySelector('.result').textContent === 'Gute Nacht!'")


def test_warnings_and_flags_stand_at_their_sentence(page: OpenedPage) -> None:
    sentences = (
        {"source": "One.", "text": "Eins.", "flags": ["retried"]},
        {
            "source": "120 men.",
            "text": "1 Mann.",
            "source_start": 5,
            "start": 6,
            "warnings": ["a number changed (120 -> 1)"],
        },
    )
    answer_with(page, *sentences)
    page.type("One. 120 men.")
    assert page.page.inner_text(".doubtful") == "1 Mann."
    assert page.page.inner_text(".doubtful + .warning") == "a number changed (120 -> 1)"
    assert page.page.inner_text(".about h2") == "Sentence 2 of 2"  # the doubtful one first
    page.page.click("[aria-label='Previous sentence']")
    assert page.page.inner_text(".handled") == "Decoded again, because the first attempt was faulty"


def test_alternatives_have_scores_and_mark_differences(page: OpenedPage) -> None:
    best, other = "Das Haus ist alt.", "Das Gebäude ist sehr alt."
    answer_with(page, {"source": "x", "text": best, "score": -0.5, "alternatives": [{"text": other, "score": -1.25}]})
    page.type("x")
    assert page.page.locator(".candidates .prose").all_inner_texts() == [best, other]
    assert page.page.locator(".candidates .score").all_inner_texts() == ["−0.50", "−1.25"]
    assert page.page.locator(".candidates mark").all_inner_texts() == ["Gebäude", "sehr"]


def test_text_is_never_parsed_as_html(page: OpenedPage) -> None:
    bad = "<img src=x onerror=alert(1)><script>alert(2)</script><b>bold</b>"
    answer_with(
        page, {"source": bad, "text": bad, "warnings": [bad], "alternatives": [{"text": f"{bad} 2", "score": -1}]}
    )
    page.type(bad)
    assert page.page.inner_text(".sentence") == bad
    page.page.click("button.history")
    page.see(".past")
    assert page.page.locator("main img, main script, main b, dialog img, dialog b").count() == 0
    assert page.wrong == []


def test_a_dropped_file_is_translated_by_paragraphs(page: OpenedPage) -> None:
    page.drop("letter.txt", b"Good morning!\r\n\r\nGood night!")
    page.see(".rows .row.done ~ .row.done")
    assert page.page.locator(".row .into .prose").all_inner_texts() == ["Guten Morgen!", "Gute Nacht!"]
    assert "letter.txt: 2 of 2 paragraphs" in page.page.inner_text(".job .status")
    with page.page.expect_download() as saved:
        page.page.click(".download")
    assert saved.value.suggested_filename == "letter.de.txt"
    assert Path(saved.value.path()).read_text(encoding="utf-8") == "Guten Morgen!\n\nGute Nacht!"
    assert page.wrong == []


def test_a_dropped_document_comes_back_as_a_file(page: OpenedPage) -> None:
    page.drop("letter.html", b"<h1>Good <b>morning!</b></h1>", "text/html")
    page.see(".job .download:not([disabled])")
    assert page.page.inner_text(".job .status") == "letter.html: translated"
    assert page.page.inner_text(".job .summary") == "1 segment: 1 translated, 0 kept, 0 flagged."
    assert page.page.locator(".job .rows").count() == 0
    for _ in range(2):  # the server delivers it once, the page as often as one likes
        with page.page.expect_download() as saved:
            page.page.click(".download")
        assert saved.value.suggested_filename == "letter.de.html"
        text = Path(saved.value.path()).read_text(encoding="utf-8")
        assert re.sub("</?b>", "", text) == "<h1>Guten Morgen!</h1>"
        assert text.count("<b>") == text.count("</b>") == 1
    page.page.click(".job .edit")
    assert page.page.is_visible("textarea.document")
    assert page.wrong == []


def test_flagged_segments_of_a_document_are_listed(page: OpenedPage) -> None:
    polish = "Kot śpi na stole od samego rana."
    page.drop("letter.html", f"<p>Good morning!</p><p>{polish}</p><p>404</p>".encode(), "text/html")
    page.see(".job .rows .row")
    counts = "2 segments: 1 translated, 1 kept, 1 flagged."
    assert page.page.inner_text(".job .summary") == f"{counts} Check the flagged ones:"
    assert page.page.inner_text(".job .row .from") == polish
    assert page.page.inner_text(".job .row .into p") == polish
    assert page.page.inner_text(".job .row .warning") == "not translated: not in the source language (Polish)"
    assert page.wrong == []


def test_the_first_direction_is_english_to_german_and_any_other_can_be_chosen(new_page: OpenedPage) -> None:
    assert new_page.page.input_value("#panel-translate .into") == "de"
    listed = new_page.page.locator("#panel-translate .into option").all_inner_texts()
    assert listed == ["Dutch", "English", "French", "German", "Italian", "Portuguese", "Spanish"]
    new_page.page.select_option("#panel-translate .from", "fr")
    new_page.page.select_option("#panel-translate .into", "pt")
    new_page.type("Bonjour, où est la gare ?")
    assert "estação" in new_page.result
    assert new_page.wrong == []


def test_text_in_a_third_language_keeps_the_target(page: OpenedPage) -> None:
    page.type("Où est la gare la plus proche ?")
    assert page.page.locator("#panel-translate .from option:checked").inner_text() == "French (detected)"
    assert page.page.input_value("#panel-translate .into") == "de"
    assert "Bahnhof" in page.result


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Dziękuję", "Polish"),
        ("Tack", "Swedish"),
        ("ありがとう", "Japanese"),
        ("Tren öğleden sonra saat beşte üçüncü perondan kalkıyor.", "Turkish"),
    ],
)
def test_text_in_a_language_that_no_model_knows_says_so(page: OpenedPage, text: str, language: str) -> None:
    page.type(text)
    assert page.page.locator("#panel-translate .from option:checked").inner_text() == f"{language} (detected)"
    assert page.page.input_value("#panel-translate .into") == "de"
    warning = page.page.inner_text("#panel-translate .warning")
    assert warning == f"not translated: not in the source language ({language})"
    assert page.result == text + warning
    assert page.wrong == []


def test_text_in_the_target_that_the_user_insists_on_says_so(page: OpenedPage) -> None:
    page.type("Danke")
    assert page.result == "Thank you"
    page.page.select_option("#panel-translate .into", "de")
    page.wait()
    assert page.page.locator("#panel-translate .from option:checked").inner_text() == "German (detected)"
    assert page.page.input_value("#panel-translate .into") == "de"
    warning = page.page.inner_text("#panel-translate .warning")
    assert warning == "not translated: not in the source language (already German)"
    assert page.result == f"Danke{warning}"
    page.page.click("[aria-label=Clear]")
    page.type("Guten Morgen!")
    assert page.page.input_value("#panel-translate .into") == "en"
    assert page.wrong == []


@pytest.mark.parametrize(
    ("text", "language", "into"),
    [("It costs 25 euros.", "English", "de"), ("Montag", "German", "en"), ("Liebe Sabine,", "German", "en")],
)
def test_short_english_and_german_is_not_taken_for_another_language(
    page: OpenedPage, text: str, language: str, into: str
) -> None:
    page.type(text)
    assert page.page.locator("#panel-translate .from option:checked").inner_text() == f"{language} (detected)"
    assert page.page.input_value("#panel-translate .into") == into


def test_a_damaged_document_is_refused_with_the_reason(page: OpenedPage) -> None:
    page.drop("book.docx", b"PK", "")
    page.see(".job .failure")
    assert page.page.inner_text(".job .failure p").startswith("Book.docx: not a valid DOCX file")
    assert page.page.inner_text(".job .status") == "book.docx: not translated"


@pytest.mark.parametrize(("name", "content"), [("photo.png", b"\x89PNG"), ("blob.txt", b"a\x00b")])
def test_another_file_is_refused_with_what_is_taken(page: OpenedPage, name: str, content: bytes) -> None:
    page.page.fill(".field textarea", "Keep me")
    page.drop(name, content, "")
    page.see("#announcement .failure")
    assert re.fullmatch(
        rf"{name} (cannot be translated|is not a text file)\. Hark takes text, .* and more\.",
        page.page.inner_text("#announcement p"),
    )
    assert page.text == "Keep me"


def test_too_long_a_text_can_be_translated_as_a_document(new_page: OpenedPage) -> None:
    problem = {"error": {"message": "60,000 characters are too many; the limit is 50,000", "status": 413}}
    new_page.route("**/api/v1/translate", lambda route: route.fulfill(status=413, json=problem))
    new_page.page.fill(".field textarea", "Good morning!\n\nGood night!")
    new_page.see(".failure")
    assert new_page.page.inner_text(".failure p") == "60,000 characters are too many; the limit is 50,000."
    new_page.page.unroute("**/api/v1/translate")
    new_page.page.click("text=Translate as a document")
    new_page.see(".rows .row.done ~ .row.done")
    assert new_page.page.locator(".row .into .prose").all_inner_texts() == ["Guten Morgen!", "Gute Nacht!"]
    assert new_page.text == "Good morning!\n\nGood night!"


def test_a_document_can_be_cancelled_and_continued(page: OpenedPage) -> None:
    page.route("**/api/v1/translate", lambda _: None)  # never answered
    page.page.click("#tab-document")
    page.page.fill("textarea.document", "Good morning!\n\nGood night!")
    with page.page.expect_event("requestfailed"):
        page.page.click(".main")
        page.page.click(".cancel")
    assert "0 of 2 paragraphs, cancelled" in page.page.inner_text(".job .status")
    page.page.unroute("**/api/v1/translate")
    page.page.click("text=Continue")
    page.see(".rows .row.done ~ .row.done")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.page.click(".actions .copy")
    page.see(".actions .copy.done")
    assert page.page.evaluate("navigator.clipboard.readText()") == "Guten Morgen!\n\nGute Nacht!"
    page.page.click(".edit")
    assert page.page.input_value("textarea.document") == "Good morning!\n\nGood night!"


def test_a_document_that_fails_keeps_what_is_done(page: OpenedPage) -> None:
    page.page.click("#tab-document")
    page.page.fill("textarea.document", "Good morning!\n\n" + "Good night! " * 400)  # two requests
    calls: list[int] = []

    def fail_second(route: Any) -> None:
        calls.append(1)
        if len(calls) == 1:
            route.continue_()
        else:
            route.fulfill(status=500, json={"error": {"message": "internal error", "status": 500}})

    page.route("**/api/v1/translate", fail_second)
    page.page.click(".main")
    page.see(".job .failure")
    assert page.page.locator(".row.done .into .prose").all_inner_texts() == ["Guten Morgen!"]
    page.page.unroute("**/api/v1/translate")
    page.page.click(".job .retry")
    page.see(".rows .row.done ~ .row.done")
    assert page.page.locator(".job .failure").count() == 0


def test_history_stays_in_the_browser_and_can_be_erased_and_switched_off(page: OpenedPage) -> None:
    stored = "JSON.parse(localStorage.getItem('hark.history'))"
    for text in ("Good morning!", "Good night!"):
        page.type(text)
        page.until(f"(text) => {stored}?.[0].text === text", text)
    page.page.click("button.history")
    assert page.page.locator(".past .entry .prose:nth-child(2)").all_inner_texts() == ["Good night!", "Good morning!"]
    page.page.click(".entry >> nth=1")
    page.until("() => document.querySelector('.result').textContent === 'Guten Morgen!'")
    page.page.click("button.history")
    page.page.click(".erase")
    assert page.page.locator(".past").count() == 0
    assert page.page.evaluate(stored) is None
    page.page.uncheck("dialog .switch input")
    page.page.keyboard.press("Escape")
    page.type("Good evening!")
    assert page.page.evaluate(stored) is None
    assert page.wrong == []


def test_typing_on_makes_one_entry_of_the_history(page: OpenedPage) -> None:
    stored = "JSON.parse(localStorage.getItem('hark.history'))"
    for text in ("The house", "The house is", "The house is old."):
        page.type(text)
        page.until(f"(text) => {stored}?.[0].text === text", text)
    assert page.page.evaluate(f"{stored}.length") == 1


def test_everything_works_from_the_keyboard(new_page: OpenedPage) -> None:
    keyboard = new_page.page.keyboard
    assert new_page.page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    keyboard.type("The old house is red.")
    keyboard.press("Control+Enter")
    new_page.wait()
    keyboard.press("Escape")
    keyboard.press("?")
    new_page.see("dialog[aria-label=Keyboard]")
    keyboard.press("Escape")
    new_page.miss("dialog")
    new_page.page.focus(".field textarea")
    while "result" not in new_page.page.evaluate("document.activeElement.className"):
        keyboard.press("Tab")
    keyboard.press("ArrowRight")
    keyboard.press("ArrowRight")
    assert new_page.page.inner_text(".result .here") == new_page.page.locator(".result .word").nth(1).inner_text()
    lit = new_page.page.locator(".behind .tied").all_inner_texts()
    assert new_page.page.inner_text("[role=status].unseen").endswith(": " + ", ".join(lit))
    keyboard.press("s")
    new_page.until("() => document.querySelector('.from').value === 'de'")
    new_page.wait()  # without a translation, no word lights up at the caret
    keyboard.press("2")
    assert new_page.page.locator("#tab-document").get_attribute("aria-selected") == "true"
    keyboard.press("/")
    assert new_page.page.evaluate("document.activeElement.classList.contains('document')")
    keyboard.type("s?d12")  # in a field, keys are text
    assert new_page.page.input_value("textarea.document") == "s?d12"
    keyboard.press("Escape")
    new_page.page.focus("#tab-document")
    keyboard.press("ArrowLeft")
    assert new_page.page.locator("#panel-translate").is_visible()
    new_page.page.focus(".field textarea")
    keyboard.press("Home")
    new_page.see(".behind .here")  # the word at the caret
    assert new_page.wrong == []


def test_arabic_is_written_from_the_right(page: OpenedPage) -> None:
    answer_with(page, {"source": "a", "text": "السلام عليكم"})
    page.type("مرحبا")
    for selector in (".field textarea", ".result"):
        assert page.page.eval_on_selector(selector, "(each) => getComputedStyle(each).direction") == "rtl"


def test_a_server_that_cannot_look_inside_says_so(page: OpenedPage) -> None:
    page.type("The house is old.")
    problem = {
        "error": {"message": "looking inside requires torch: pip install 'hark-translate[train]'", "status": 501}
    }
    page.route("**/api/v1/look", lambda route: route.fulfill(status=501, json=problem))
    page.page.click("button.look")
    page.see("dialog .failure")
    assert "requires torch" in page.page.inner_text("dialog .failure")
    assert page.page.locator("dialog .retry").count() == 0


def test_every_control_has_a_name(page: OpenedPage) -> None:
    page.type("The house is old. It is red.")
    nameless = page.page.evaluate(
        """() => [...document.querySelectorAll("button, a, input, select, textarea, [tabindex='0']")]
          .filter((each) => each.checkVisibility())
          .filter((each) => !(each.ariaLabel || each.textContent.trim() || each.labels?.[0]?.textContent.trim()))
          .map((each) => each.outerHTML.slice(0, 80))"""
    )
    assert nameless == []


def test_look_inside_opens_the_head_views(page: OpenedPage) -> None:
    pytest.importorskip("torch")
    page.watch()
    page.type("The house is old.")
    page.page.click("button.look")
    page.see("#hark-look[aria-busy=false] .ties")
    assert page.page.locator("#hark-look .source .word").all_inner_texts() == ["The", "house", "is", "old", "."]
    page.page.click("#tab-grid")
    page.see("#hark-look[aria-busy=false] #view-grid button.head")
    assert page.page.locator("#hark-look footer").count() == 0  # it is no file of its own here
    page.page.keyboard.press("Escape")
    page.miss("dialog")
    assert page.text == "The house is old."
    assert page.outside() == []
    assert page.wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_the_switch(browser: Any, server: TestServer, scheme: str) -> None:
    with opened(browser, server, color_scheme=scheme) as page:
        page.goto()
        page.type("The house is old. It is red.")
        paper = "getComputedStyle(document.body).backgroundColor"
        own = page.page.evaluate(paper)
        assert own == {"light": "rgb(251, 250, 248)", "dark": "rgb(20, 23, 26)"}[scheme]
        readable = [
            ".field textarea", ".result .word", ".count", "#foot button", ".name", "#tab-document", ".from",
            ".about h2", ".candidates .best .prose", ".candidates li:last-child .prose", ".score", ".look",
        ]  # fmt: skip
        for selector, contrast in page.page.evaluate(CONTRASTS, readable):
            assert contrast >= 4.5, selector
        page.page.click("button.theme")
        assert page.page.evaluate(paper) != own
        for selector, contrast in page.page.evaluate(CONTRASTS, readable):
            assert contrast >= 4.5, selector
        page.goto()
        assert page.page.evaluate(paper) != own  # the choice is remembered


def test_nothing_is_wider_than_a_phone(browser: Any, server: TestServer) -> None:
    with opened(browser, server, viewport={"width": PHONES[0], "height": 740}, has_touch=True) as page:
        page.goto()

        def fits_every_phone() -> Iterator[int]:
            for width in PHONES:
                resize(page.page, width, 740)
                assert page.overflow() <= 0, width
                yield width

        assert tuple(fits_every_phone()) == PHONES
        page.type("Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverordnung " * 2 + "The house is old.")
        for _ in fits_every_phone():
            page.page.tap(".result .word >> nth=-1")  # fingers cannot hover
            page.see(".behind .tied")
            page.page.evaluate("document.activeElement.blur()")
            assert page.page.locator(".tied").count() == 0
        page.drop("long.txt", b"Good morning!\n\nhttps://example.org/" + b"x" * 300)
        page.see(".rows .row.done ~ .row.done")
        for _ in fits_every_phone():
            for button in ("button.history", "button.help"):
                page.page.click(button)
                assert page.overflow() <= 0
                page.page.keyboard.press("Escape")
        assert page.wrong == []


def test_the_form_of_address_can_be_chosen_where_a_model_can(
    browser: Any, start_server: StartServer, tmp_path: Path
) -> None:
    made, asked = stubs.formal_service(tmp_path)
    with opened(browser, start_server(made)) as page:
        page.goto()
        page.page.select_option("#panel-translate .from", "en")
        assert page.page.locator("#panel-translate .form option").all_inner_texts() == [
            "Automatic",
            "Formal",
            "Informal",
        ]
        page.type("You see the house.\n\nIt is old.")
        assert "You see the house." in asked  # once is no reason to choose
        page.type("You see the house.\n\nIt is old.\n\nHey, you can run.")
        for sentence in ("Hey, you can run.", "You see the house."):  # the first paragraph again, in the form of all
            assert f"<informal> {sentence}" in asked
        page.page.select_option("#panel-translate .form", "formal")
        page.wait()
        assert "<formal> You see the house." in asked
        page.page.click("#tab-document")
        page.page.fill("textarea.document", "You see the tree.")
        page.page.click("#panel-document .main")
        page.see(".rows .row.done")
        assert "<formal> You see the tree." in asked
        page.page.click("#tab-translate")
        page.goto()
        assert page.page.input_value("#panel-translate .form") == "formal"  # it is remembered
        for width in PHONES:
            resize(page.page, width, 740)
            assert page.overflow() <= 0, width
        page.page.select_option("#panel-translate .into", "en")
        page.miss("#panel-translate .form")
        assert page.wrong == []


def test_a_server_with_keys_asks_for_one(browser: Any, start_server: StartServer, tmp_path: Path) -> None:
    from hark.serve.admission import add_key

    file = tmp_path / "keys"
    key = add_key(file)
    server = start_server(one_phrase(api_keys=file))
    with opened(browser, server) as page:
        page.goto(ready=".failure form")
        page.page.fill("form.key input", key)
        page.page.click("form.key button")
        page.see(".field textarea")
        page.type("Good morning!")
        assert page.result == "Guten Morgen!"


def test_the_page_works_under_a_path_of_a_proxy(browser: Any, start_server: StartServer) -> None:
    server = start_server(one_phrase(root_path="/hark"))
    with opened(browser, server) as page:
        prefix = f"{server.url}/hark/"

        def strip(route: Any) -> None:  # what a proxy does
            route.fulfill(response=route.fetch(url=route.request.url.replace(prefix, f"{server.url}/")))

        page.watch()
        page.page.route(f"{prefix}**", strip)
        page.page.goto(prefix)
        page.see(".field textarea")
        page.type("Good morning!")
        assert page.result == "Guten Morgen!"
        assert [url for url in page.requests if not url.startswith(prefix)] == []
        assert page.wrong == []
