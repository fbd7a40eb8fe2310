"""The page, in a real Chromium, from disk and without a network."""

import base64
import json
import re
import struct
import zlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hark.inspect.page
from hark.inspect.page import MODULES, Pack, Page, render, script, text_size
from hark.inspect.recording import Recording
from hark.inspect.words import merge_tokens
from tests.inspect.browser import Opened, resize
from tests.inspect.made_up import make_effects, make_recording
from tests.inspect.scripts import ARABIC, CHINESE, GERMAN, HEBREW, tokenizer

FOLDER = Path(hark.inspect.page.__file__).parent / "page"
VIEWS = ("sentence", "grid", "lines", "matrix", "why", "search", "effects")
SIZE = {"width": 1200, "height": 900}
SOURCE = "the cat sleeps under the big tree"
HTML = '<script>alert(1)</script> & <img src=x onerror=alert(2)> <b>bold</b> "quoted"'


@pytest.fixture
def opened(desktop: Opened) -> Opened:
    if desktop.page.viewport_size != SIZE:
        resize(desktop.page, **SIZE)
    return desktop


@pytest.fixture(scope="module")
def recording() -> Recording:
    return make_recording(tokenizer(), SOURCE, GERMAN)


@pytest.fixture(scope="module")
def file(recording: Recording, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(render(recording, tokenizer(), make_effects(recording)), tmp_path_factory.mktemp("page"))


def write(page: Page, folder: Path) -> Path:
    path = folder / "look.html"
    page.save(path)
    return path


def table_of(recording: Recording, kind: str, layer: int, head: int) -> Any:
    """Weights between words, computed independently of the page."""
    assert kind == "encoder"  # both sides are the same words
    return merge_tokens(recording.attention.encoder_LHSS, recording.source, recording.source)[layer, head]


def test_every_view_renders_without_network_requests(opened: Opened, file: Path) -> None:
    opened.goto(file)
    for view in VIEWS:
        opened.page.click(f"#tab-{view}")  # by the mouse; elsewhere `show` opens views
        opened.settle()
        assert opened.page.is_visible(f"#view-{view}")
        assert opened.page.locator(f"#tab-{view}").get_attribute("aria-selected") == "true"
        assert len(opened.page.inner_text(f"#view-{view}")) > 20
    assert opened.inked("#view-lines canvas") > 20
    assert opened.inked("#view-matrix canvas") > 20
    assert opened.inked("#view-search canvas") > 10
    assert opened.inked("#view-why canvas") > 5
    opened.show("grid")
    assert opened.page.locator("#view-grid button.head").count() == 3 * 2 * 2
    assert opened.inked("#view-grid canvas") > 10
    assert opened.wrong == []
    assert opened.outside() == []


def test_pointing_at_a_word_shows_what_it_needed(opened: Opened, file: Path, recording: Recording) -> None:
    opened.begin(file)
    page = opened.page
    words = page.locator("#view-sentence .written .word")
    for number in (0, 2):  # hiding source word i makes token i of the translation unlikely
        at = next(at for at, word in enumerate(recording.written.word_of) if word == number)
        words.nth(number).hover()
        tied = page.locator("#view-sentence .source .word.tied").all_inner_texts()
        assert recording.source.words[recording.source.text_words[at]] in tied
        assert recording.written.words[number] in page.inner_text("#view-sentence .ties thead")
    assert "is not an explanation" in page.inner_text("#view-sentence .lesson")
    words.nth(0).hover()
    ink = words.nth(1).evaluate("(word) => getComputedStyle(word).color")  # the word under the pointer: light on dark
    assert words.nth(0).evaluate("(word) => getComputedStyle(word).backgroundColor") == ink
    assert "Something else ." in page.inner_text("#view-sentence .lesson q")
    assert opened.inked("#view-sentence .links") > 5
    page.mouse.move(2, 2)
    words.nth(0).focus()
    page.keyboard.press("ArrowRight")
    assert words.nth(1).get_attribute("aria-pressed") == "true"
    assert words.nth(1).evaluate("(word) => word === document.activeElement")
    page.click("text=Where it looked (attention)")
    opened.settle()
    assert page.locator("[data-value=looked]").get_attribute("aria-checked") == "true"


def test_heads_of_the_grid_open_by_mouse_and_keyboard(opened: Opened, file: Path) -> None:
    opened.begin(file)
    page = opened.page
    opened.show("grid")
    page.locator("#view-grid button.head").nth(3).click()
    assert page.locator("#view-lines").is_visible()
    assert page.locator(".chip[aria-pressed=true]").all_inner_texts() == ["2"]
    opened.show("grid")
    page.locator("#view-grid section").nth(1).locator("button.head").first.focus()
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    opened.settle()
    assert page.locator("[data-value=encoder]").get_attribute("aria-checked") == "true"
    assert page.locator(".chip[aria-pressed=true]").all_inner_texts() == ["2"]
    assert page.locator('[aria-label="Layer"] [aria-checked=true]').inner_text() == "2"


def test_lines_describe_the_weights_of_a_word(opened: Opened, file: Path, recording: Recording) -> None:
    opened.begin(file)
    page = opened.page
    opened.show("lines")
    page.click("[data-value=encoder]")
    page.locator('[aria-label="Layer"] button').first.click()
    page.click('.chip[aria-label="Head 2"]')  # only the first stays on
    opened.settle()
    row = table_of(recording, "encoder", 0, 0)[1]
    best = int(row.argmax())
    expected = f"“cat” looks at “{recording.source.words[best] or '⟨end⟩'}” {row[best]:.2f}"
    box = page.locator("#view-lines .stage").bounding_box()
    page.mouse.move(box["x"] + 40, box["y"] + 44 + 28 * 1.5)  # by the left column, at its second word
    opened.settle()
    assert opened.said("lines").startswith(expected)
    page.mouse.move(2, 2)
    opened.settle()
    assert opened.said("lines").startswith("Point at a word")
    page.locator("#view-lines .stage").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    opened.settle()
    assert opened.said("lines").startswith(expected)
    page.keyboard.press("ArrowRight")
    opened.settle()
    assert opened.said("lines").startswith("“cat” is looked at by")
    page.keyboard.press("Escape")
    opened.settle()
    assert opened.said("lines").startswith("Point at a word")
    before = opened.inked("#view-lines canvas")
    page.click("[data-value='all heads']")
    opened.settle()
    assert opened.inked("#view-lines canvas") > before  # colours of two heads
    page.click("text=Average")
    opened.settle()
    assert page.locator(".toggle", has_text="Average").get_attribute("aria-checked") == "true"
    page.click("[data-value='all heads']")
    opened.settle()
    assert opened.said("lines") == "No head is selected; select some above."


def test_the_table_shows_exact_values_locks_rows_and_zooms(opened: Opened, file: Path, recording: Recording) -> None:
    opened.begin(file)
    page = opened.page
    opened.show("matrix")
    page.click("[data-value=encoder]")
    page.locator('[aria-label="Layer"] button').first.click()
    page.locator('[aria-label="Head"] button').nth(1).click()
    opened.settle()
    table = table_of(recording, "encoder", 0, 1)
    page.locator("#view-matrix .stage").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    opened.settle()
    assert f"“cat” looks at “sleeps”: {table[1, 2]:.4f}" in opened.said("matrix")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")  # the row is locked
    page.keyboard.press("ArrowRight")
    opened.settle()
    assert f"“cat” looks at “under”: {table[1, 3]:.4f} (row locked" in opened.said("matrix")
    page.keyboard.press("Escape")
    stage = page.locator("#view-matrix .stage")
    box = stage.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] / 2)
    opened.settle()
    said = re.fullmatch(r"“(.*)” looks at “(.*)”: ([\d.]+)", opened.said("matrix"))
    assert said is not None
    words = [word or "⟨end⟩" for word in recording.source.words]
    rows, columns = ([at for at, word in enumerate(words) if word == said[group]] for group in (1, 2))
    assert float(said[3]) in [pytest.approx(table[i, j], abs=6e-5) for i in rows for j in columns]
    width = "() => document.querySelector('#view-matrix .space').clientWidth"
    before = page.evaluate(width)
    stage.focus()
    page.keyboard.press("-")
    opened.settle()
    assert page.evaluate(width) < before
    page.click('[aria-label="Zoom in"]')
    page.click('[aria-label="Zoom in"]')
    opened.settle()
    assert page.evaluate(width) > before
    page.click("text=Average")
    page.keyboard.press("Escape")
    opened.settle()
    mean = merge_tokens(recording.attention.encoder_LHSS, recording.source, recording.source)[0].mean(0)
    stage.focus()
    page.keyboard.press("ArrowRight")
    opened.settle()
    assert f"“the” looks at “the”: {mean[0, 0]:.4f}" in opened.said("matrix")


def test_why_computes_the_weight_of_the_table(opened: Opened, file: Path, recording: Recording) -> None:
    opened.begin(file)
    page = opened.page
    opened.show("why")
    page.click("[data-value=decoder]")
    page.locator('[aria-label="Layer"] button').first.click()
    page.locator('[aria-label="Head"] button').first.click()
    page.select_option("#why-row", "4")
    page.select_option("#why-column", "2")
    opened.settle()
    weights_TT = recording.attention.decoder_LHTT[0, 0]
    vectors = recording.vectors["decoder"]
    q, k = vectors.q_LTHK[0, 4, 0], vectors.k_LSHK[0, 2, 0]
    text = page.inner_text("#view-why").replace("−", "-")
    assert f"with weight {weights_TT[4, 2]:.4f}" in text
    assert float(page.inner_text("#view-why .scores tr.here td:last-child")) == pytest.approx(
        weights_TT[4, 2], abs=6e-4
    )
    sums = re.search(r"Sum of the products (\S+), divided by √8 = 2.83 to keep it small: score (\S+)\.", text)
    assert sums is not None
    assert float(sums[1]) == pytest.approx(float(q @ k), abs=0.02)
    assert float(sums[2]) == pytest.approx(float(q @ k) / np.sqrt(8), abs=0.01)
    later = len(recording.written_ids) - 5
    assert f"{later} later, masked" in text
    assert "rounded" in text
    values = vectors.v_LSHK[0, :, 0]
    output = weights_TT[4] @ values
    share = weights_TT[4, 2] * values[2] @ output / (output @ output)
    shown = re.search(r"makes up (<?[\d.]+)\u202f% of what", text)
    assert shown is not None
    assert float(shown[1].strip("<")) == pytest.approx(max(0.0, 100 * share), abs=0.6)
    page.locator("#view-why .strips").first.focus()
    page.keyboard.press("ArrowRight")
    assert "number 1 of 8" in page.inner_text("#view-why .number >> nth=0")


def test_the_matrix_opens_why(opened: Opened, file: Path, recording: Recording) -> None:
    opened.begin(file)
    page = opened.page
    opened.show("matrix")
    page.locator("#view-matrix .stage").focus()
    for key in ("ArrowDown", "ArrowRight", "w"):
        page.keyboard.press(key)
    page.locator("#view-why .step").first.wait_for()
    # The pair of tokens of the two words with the most weight.
    rows, columns = recording.written.tokens_of(0), recording.source.tokens_of(1)
    weights_TS = recording.attention.cross_LHTS[1, 0]
    row, column = max(((i, j) for i in rows for j in columns), key=lambda cell: weights_TS[cell])
    assert page.input_value("#why-row") == str(row)
    assert page.input_value("#why-column") == str(column)


def test_the_slider_steps_through_the_search(opened: Opened, file: Path, recording: Recording) -> None:
    opened.begin(file)
    page = opened.page
    opened.show("search")
    slider = page.locator("#view-search input[type=range]")
    slider.focus()
    page.keyboard.press("Home")
    opened.settle()
    steps = len(recording.search.steps)
    assert page.inner_text("#view-search output") == f"step 1 of {steps}"
    assert page.locator("#view-search .card").count() == 1
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    opened.settle()
    assert page.inner_text("#view-search output") == f"step 3 of {steps}"
    assert page.locator("#view-search .card").count() == 2
    first = page.locator("#view-search .card").first
    begun = tokenizer().decode([recording.written_ids[:2]])[0].strip()
    assert first.locator(".begun").inner_text() == begun
    assert first.locator("li.lives .figure").first.inner_text() == "60\u202f%"
    weights_S = recording.search.steps[2].attention_WS[0]
    most = max(
        range(len(recording.source.words)),
        key=lambda word: sum(weights_S[at] for at in recording.source.tokens_of(word)),
    )
    assert f"“{recording.source.words[most] or '⟨end⟩'}”" in page.inner_text("#view-search .looking .soft")
    page.locator("#view-search .card").nth(1).click()
    opened.settle()
    assert page.locator("#view-search .card").nth(1).get_attribute("aria-checked") == "true"
    box = slider.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 3, box["y"] + box["height"] / 2)
    opened.settle()
    assert page.inner_text("#view-search output") == f"step {steps} of {steps}"
    assert page.locator("#view-search li.ends").count() == 1
    page.locator("#view-search .stage").focus()
    page.keyboard.press("ArrowLeft")
    opened.settle()
    assert page.inner_text("#view-search output") == f"step {steps - 1} of {steps}"


def test_measured_effects_are_shown(opened: Opened, file: Path, recording: Recording) -> None:
    opened.begin(file)
    page = opened.page
    opened.show("effects")
    page.locator("#view-effects .left button.word").first.click()
    opened.settle()
    assert "With “the” hidden" in page.inner_text("#view-effects .outcome")
    assert page.locator("#view-effects mark").all_inner_texts() == ["Something", "else", "."]
    page.locator("#view-effects .headline").first.focus()
    page.keyboard.press("Enter")
    opened.settle()
    assert "head 1:1" in page.inner_text("#view-effects .outcome")
    assert "The same translation." in page.inner_text("#view-effects .outcome")
    assert "the 2 of 12 heads" in page.inner_text("#view-effects")
    lost = 0.3 * len(recording.written_ids)
    assert page.locator("#view-effects .headline .figure").first.inner_text() == f"−{lost:.2f}"


def test_words_split_into_tokens_and_special_tokens_can_be_hidden(
    opened: Opened, file: Path, recording: Recording
) -> None:
    opened.begin(file)
    page = opened.page
    opened.show("why")  # always shows tokens
    assert page.locator("#why-column option").count() == len(recording.source_ids)
    opened.show("lines")
    height = "() => document.querySelector('#view-lines .space').clientHeight"
    words = page.evaluate(height)
    page.click("text=Start and end")
    opened.settle()
    assert page.evaluate(height) == words - 28
    page.click("text=Start and end")
    page.click("text=Whole words")
    opened.settle()
    assert page.evaluate(height) == words + 28 * (len(recording.written_ids) - len(recording.written.words))


def test_every_view_is_saved_as_valid_svg_and_png(opened: Opened, file: Path) -> None:
    opened.begin(file)
    words = {"sentence": "cat", "grid": "layer", "lines": "cat", "matrix": "cat", "why": "query", "search": "⟨start⟩",
             "effects": "Hide"}  # fmt: skip
    for view in VIEWS:
        opened.show(view)
        name, data = opened.saved("SVG")
        assert name == f"hark-{view}.svg"
        picture = ElementTree.fromstring(data)
        assert picture.tag == "{http://www.w3.org/2000/svg}svg"
        texts = [text.text or "" for text in picture.iter("{http://www.w3.org/2000/svg}text")]
        assert any(words[view] in text for text in texts), view
        name, data = opened.saved("PNG")
        assert name == f"hark-{view}.png"
        width, height = png_size(data)
        assert width == pytest.approx(2 * float(picture.attrib["width"]), abs=2)
        assert height == pytest.approx(2 * float(picture.attrib["height"]), abs=2)
    assert opened.wrong == []
    assert opened.outside() == []


def test_a_saved_view_is_a_file_on_disk(opened: Opened, file: Path, tmp_path: Path) -> None:
    opened.begin(file)
    opened.show("lines")
    with opened.page.expect_download() as download:
        opened.page.click('[aria-label="Save this view as SVG"]')
    assert download.value.suggested_filename == "hark-lines.svg"
    download.value.save_as(tmp_path / "lines.svg")
    assert len(list(ElementTree.parse(tmp_path / "lines.svg").getroot().iter())) > 50


def png_size(data: bytes) -> tuple[int, int]:
    """Decode a picture all the way: every checksum, every byte of every row."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, size, ended = 8, b"", (0, 0), False
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(name + body)
        if name == b"IHDR":
            *wide_high, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", body)
            size, channels = (wide_high[0], wide_high[1]), {2: 3, 6: 4}[colour]
            assert (depth, interlace) == (8, 0)
        packed += body if name == b"IDAT" else b""
        ended = name == b"IEND"
        at += 12 + length
    assert ended
    assert len(zlib.decompress(packed)) == size[1] * (1 + size[0] * channels)
    return size


def test_light_and_dark(opened: Opened, file: Path) -> None:
    opened.page.emulate_media(color_scheme="dark")
    opened.goto(file)
    paper = "() => getComputedStyle(document.getElementById('hark-look')).backgroundColor"
    dark = opened.page.evaluate(paper)
    opened.page.click('[aria-label="Switch to light colours"]')
    light = opened.page.evaluate(paper)
    assert brightness(dark) < 60 < 200 < brightness(light)
    opened.page.emulate_media(color_scheme="light")
    opened.goto(file)
    assert opened.page.evaluate(paper) == light


def brightness(colour: str) -> float:
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3


def test_the_keyboard_reaches_everything(opened: Opened, file: Path) -> None:
    opened.begin(file)
    page = opened.page
    page.locator("#tab-sentence").focus()
    for view in VIEWS[1:]:
        page.keyboard.press("ArrowRight")
        opened.settle()
        assert page.locator(f"#view-{view}").is_visible()
    focused = "() => document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"
    page.locator("#tab-lines").click()
    page.locator("#tab-lines").focus()
    reached = []
    for _ in range(14):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(focused))
        outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", reached[-1]
        if reached[-1].startswith("Lines between words"):
            break
    assert reached[:2] == ["Save this view as SVG", "Save this view as PNG"]
    assert reached[2:5] == ["Translation → source", "2", "Head 1"]  # one stop for each choice
    assert reached[-3:-1] == ["Whole words", "Start and end"]
    assert reached[-1].startswith("Lines between words")
    unnamed = page.evaluate(
        "() => [...document.querySelectorAll('button, select, input, [tabindex]')]"
        ".filter((each) => !(each.getAttribute('aria-label') || each.textContent.trim() || each.closest('label')))"
        ".map((each) => each.outerHTML)"
    )
    assert unnamed == []


@pytest.mark.parametrize("length", [1, 2, 128, 512])
def test_sentences_of_any_length(opened: Opened, tmp_path: Path, length: int) -> None:
    made = make_recording(tokenizer(), "", "", layers=1, length=length)
    opened.goto(write(render(made, tokenizer(), make_effects(made)), tmp_path))
    page = opened.page
    for view in VIEWS:
        opened.show(view)
        if view not in ("lines", "matrix"):
            continue
        assert opened.inked(f"#view-{view} canvas") > 1
        if length < 128:
            continue
        stage = page.locator(f"#view-{view} .stage")
        stage.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("End")
        opened.settle()
        side = "scrollTop" if view == "lines" else "scrollLeft"
        assert stage.evaluate(f"(stage) => stage.{side}") > 0 or view == "matrix"
        # Only the visible part is drawn: the canvas stays as large as the viewport.
        assert page.eval_on_selector(f"#view-{view} canvas", "(canvas) => canvas.height") < 1000
        assert opened.inked(f"#view-{view} canvas") > 1
    assert opened.wrong == []


@pytest.mark.parametrize(
    ("source", "written", "directions"),
    [(ARABIC, GERMAN, ["rtl", "ltr"]), (CHINESE, HEBREW, ["ltr", "rtl"]), (GERMAN, CHINESE, ["ltr", "ltr"])],
    ids=["ar-de", "zh-he", "de-zh"],
)
def test_scripts(opened: Opened, tmp_path: Path, source: str, written: str, directions: list[str]) -> None:
    made = make_recording(tokenizer(), source, written)
    opened.goto(write(render(made, tokenizer(), make_effects(made)), tmp_path))
    page = opened.page
    for side, text, direction in zip(("source", "written"), (source, written), directions, strict=True):
        paragraph = page.locator(f"#view-sentence .text.{side}")
        assert paragraph.text_content() == text
        # The browser determines the direction from the text.
        boxes = [word.bounding_box()["x"] for word in paragraph.locator(".word").all()[:2]]
        assert (boxes[1] < boxes[0]) == (direction == "rtl")
    page.locator("#view-sentence .written .word").first.focus()
    page.keyboard.press("ArrowLeft" if directions[1] == "rtl" else "ArrowRight")  # the next word in reading order
    assert page.locator("#view-sentence .written .word").nth(1).get_attribute("aria-pressed") == "true"
    for view in VIEWS:
        opened.show(view)
    assert opened.inked("#view-lines canvas") > 20
    assert opened.wrong == []


def test_html_in_the_sentence_is_text(opened: Opened, tmp_path: Path) -> None:
    made = make_recording(tokenizer(), HTML, HTML + " </script><svg onload=alert(3)>")
    page = render(made, tokenizer(), make_effects(made))
    opened.goto(write(page, tmp_path))
    assert opened.page.locator("#view-sentence .text.source").text_content() == HTML
    for view in VIEWS:
        opened.show(view)
    assert opened.page.locator("main img, main b:has-text('bold'), main script, main svg").count() == 0
    assert opened.page.locator("script").count() == 3
    assert HTML in opened.page.title()
    assert opened.wrong == []
    assert opened.outside() == []


def test_a_notebook_displays_the_page(opened: Opened, recording: Recording, tmp_path: Path) -> None:
    made = render(recording, tokenizer())
    (tmp_path / "notebook.html").write_text(f"<!doctype html><p>cell</p>{made._repr_html_()}", encoding="utf-8")
    opened.wrong.clear()
    opened.page.goto((tmp_path / "notebook.html").as_uri())
    frame = opened.page.frame_locator("iframe")
    frame.locator("#view-sentence .ties").wait_for()
    frame.locator("#tab-lines").click()
    assert frame.locator("#view-lines .stage").is_visible()
    assert opened.wrong == []


def test_a_server_can_serve_the_modules_and_measure_live(desktop: Opened, recording: Recording) -> None:
    """The same page from a server: modules are imported one by one, and missing effects are measured on request."""
    whole = render(recording, tokenizer(), make_effects(recording)).html
    data = "".join(re.findall(r'<script type="(?:application/json|text/plain)".*?</script>', whole, re.DOTALL))
    start = """
      import { mount } from "/main.js";
      import { Look } from "/look.js";
      const [head, blocks] = ["hark-head", "hark-blocks"].map((id) => document.getElementById(id).textContent);
      const { logProbs } = JSON.parse(head).effects;
      const measure = async (change) => ({ word: 1, logProbs, text: `live ${change}`, score: -3 });
      mount(document.getElementById("hark-look"), Look.fromBase64(JSON.parse(head), blocks), { measure });
    """
    opened = Opened(desktop.page.context)

    def serve(route: Any) -> None:
        name = route.request.url.rsplit("/", 1)[1]
        if name:
            route.fulfill(body=(FOLDER / name).read_text(encoding="utf-8"), content_type="text/javascript")
        else:
            body = f'<!doctype html><main id="hark-look"></main>{data}<script type="module">{start}</script>'
            route.fulfill(body=body, content_type="text/html; charset=utf-8")

    opened.page.route("http://hark.test/**", serve)
    opened.page.goto("http://hark.test/")
    opened.page.locator("#view-sentence .ties").wait_for()
    opened.show("effects")
    opened.page.locator("#view-effects .left button.word").nth(1).click()  # measured, but not translated again
    opened.page.locator("text=live word 1").wait_for()
    assert {url.rsplit("/", 1)[1] for url in opened.requests} == {"", *(f"{name}.js" for name in MODULES)}
    assert [each for each in opened.wrong if "favicon" not in each] == []
    opened.page.close()


def test_without_measurements_the_page_says_so(opened: Opened, recording: Recording, tmp_path: Path) -> None:
    opened.goto(write(render(recording, tokenizer()), tmp_path))
    assert "What it needed" not in opened.page.inner_text("main")
    assert "Nothing was measured" in opened.show("effects").inner_text()
    assert opened.wrong == []


def test_128_tokens_of_the_base_model_stay_under_3_mb() -> None:
    made = make_recording(tokenizer(), "", "", layers=6, heads=8, width=64, beam=4, length=128)
    page = render(made, tokenizer(), make_effects(made))
    assert len(page.html.encode()) < 3_000_000
    head = json.loads(re.search(r'id="hark-head">(.*?)</script>', page.html)[1])  # type: ignore[index]
    assert all(f"weights/{kind}/5" in head["blocks"] for kind in ("encoder", "decoder", "cross"))
    # The vectors of measured heads are included; those of all heads do not fit.
    assert "vectors/cross/0/0/q" in head["blocks"]
    assert len([name for name in head["blocks"] if name.startswith("vectors/")]) < 3 * 3 * 6 * 8


def test_modules_import_only_earlier_modules() -> None:
    """Concatenated, they must run in order; and none is missing."""
    assert {file.stem for file in FOLDER.glob("*.js")} == set(MODULES)
    for number, name in enumerate(MODULES):
        text = (FOLDER / f"{name}.js").read_text(encoding="utf-8")
        assert set(re.findall(r'from "\./(\w+)\.js"', text)) <= set(MODULES[:number])
    assert not re.search(r"^(import|export) ", script(), re.MULTILINE)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", script())


def unpack(pack: Pack, name: str) -> Any:
    block = pack.blocks[name]
    packed = base64.b64decode(pack.text)[block["at"] : block["at"] + block["bytes"]]
    plain = np.frombuffer(zlib.decompress(packed, -zlib.MAX_WBITS), np.uint8)
    kind, bits = block["type"][0], int(block["type"][1:])
    if bits == 16:
        high, low = plain[: len(plain) // 2].astype(np.uint16), plain[len(plain) // 2 :].astype(np.uint16)
        plain = ((high << 8) | low).view(np.int16 if kind == "i" else np.uint16)
    return plain.astype(np.float64).reshape(block["shape"]) * block["scale"]


@pytest.mark.parametrize("bits", [8, 16])
def test_shares_are_rounded_to_half_a_step(bits: Any) -> None:
    shares = np.random.default_rng(1).dirichlet(np.ones(5), (3, 4)).astype(np.float32)
    shares[0, 0] = [0, 0, 1, 0, 0]
    pack = Pack()
    pack.add_shares("some", shares, bits)
    found = unpack(pack, "some")
    assert found.shape == shares.shape
    assert np.abs(found - shares).max() <= 0.5 / (2**bits - 1) + 1e-7
    np.testing.assert_array_equal(found[0, 0], [0, 0, 1, 0, 0])


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=40))
def test_signed_numbers_are_rounded_to_half_a_step(numbers: list[float]) -> None:
    array = np.array(numbers, np.float32)
    pack = Pack()
    pack.add_signed("some", array)
    largest = float(np.abs(array).max()) or 1.0
    assert np.abs(unpack(pack, "some") - array).max() <= 0.5001 * largest / 32767


def test_blocks_are_contiguous() -> None:
    pack = Pack()
    arrays = {f"block {number}": np.full((number, 2), number / 9, np.float32) for number in range(1, 6)}
    for name, array in arrays.items():
        pack.add_shares(name, array, 16)
    for name, array in arrays.items():
        np.testing.assert_allclose(unpack(pack, name), array, atol=1e-5)
    assert pack.size == sum(block["bytes"] for block in pack.blocks.values()) == len(base64.b64decode(pack.text))
    assert len(pack.text) == text_size(pack.size)


def test_any_memory_order() -> None:
    array = np.random.default_rng(2).random((4, 6)).astype(np.float32)
    pack = Pack()
    pack.add_shares("turned", array.T, 16)
    pack.add_signed("sliced", array[:, ::2])
    np.testing.assert_allclose(unpack(pack, "turned"), array.T, atol=1e-5)
    np.testing.assert_allclose(unpack(pack, "sliced"), array[:, ::2], atol=1e-4)


def test_weights_of_a_causal_head_compress_better() -> None:
    weights = np.random.default_rng(3).dirichlet(np.ones(64), (2, 64)).astype(np.float32)
    whole, causal = Pack(), Pack()
    whole.add_shares("a", weights, 16)
    causal.add_shares("a", np.tril(weights), 16)
    assert causal.size < 0.7 * whole.size
