"""The page of what a text-to-text model makes of a text, in a real Chromium."""

import re
from pathlib import Path

import numpy as np
import pytest

from hark.inspect.look import look_at_output
from hark.inspect.recording import Recording
from hark.inspect.text_to_text import TextToText
from tests.inspect.browser import Opened, resize
from tests.inspect.test_phone import LAYOUT
from tests.inspect.text_models import T5, make_text_to_text

SIZE = {"width": 1200, "height": 900}
TEXT, OUTPUT = "The <extra_id_0> sees\n<b>a</b> house.", "<extra_id_0> cat <extra_id_1>"
GENERATED = ("sentence", "grid", "lines", "matrix", "why", "search", "effects")
GIVEN = ("sentence", "grid", "lines", "matrix", "why", "predict", "effects")
Shown = tuple[Path, Recording]


@pytest.fixture
def opened(desktop: Opened) -> Opened:
    if desktop.page.viewport_size != SIZE:
        resize(desktop.page, **SIZE)
    return desktop


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> TextToText:
    return TextToText.open(make_text_to_text(tmp_path_factory.mktemp("models") / "tiny", *T5))


@pytest.fixture(scope="module")
def generated(loaded: TextToText, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    page, recording = look_at_output(loaded, TEXT, max_tokens=9, changes=1, beam=2)
    page.save(path := tmp_path_factory.mktemp("page") / "look.html")
    return path, recording


@pytest.fixture(scope="module")
def given(loaded: TextToText, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    page, recording = look_at_output(loaded, TEXT, OUTPUT)
    page.save(path := tmp_path_factory.mktemp("page") / "look.html")
    return path, recording


@pytest.mark.parametrize("views", [GENERATED, GIVEN], ids=["generated", "given"])
def test_every_view_renders_without_network_requests(
    views: tuple[str, ...], opened: Opened, generated: Shown, given: Shown
) -> None:
    opened.goto((generated if views is GENERATED else given)[0])
    page = opened.page
    third = "Search" if views is GENERATED else "Predictions"
    names = ["Output", "All heads", "Lines", "Table", "Why", third, "What if"]
    assert page.locator("[role=tab]").all_inner_texts() == names
    assert page.inner_text("header .model") == "tiny · text to text"
    text = ""
    for view in views:
        opened.show(view)
        text += page.inner_text("#hark-look")
    assert "translat" not in text.lower()
    assert " source" not in text
    assert page.locator("#view-grid button.head").count() == 24
    opened.show("lines")
    assert opened.inked("#view-lines canvas") > 5
    kinds = page.locator('[aria-label="Attention"] button').all_inner_texts()
    assert kinds == ["Output → input", "Input → input", "Output → itself"]
    for name in ("SVG", "PNG"):
        assert len(opened.saved(name)[1]) > 500
    assert opened.wrong == []
    assert opened.outside() == []


def test_sentinels_stand_in_the_text_and_can_be_hidden(opened: Opened, generated: Shown) -> None:
    opened.begin(generated[0])
    words = opened.page.locator("#view-sentence .text.source .word")
    assert words.all_inner_texts() == [word for word in generated[1].source.words if word]
    assert "<extra_id_0>" in words.all_inner_texts()
    opened.show("effects")
    opened.page.locator("#view-effects .text .word", has_text="extra_id_0").click()
    opened.settle()
    assert opened.page.inner_text("#view-effects .outcome h3") == "With “<extra_id_0>” hidden"


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_why_adds_the_bias_of_relative_positions(kind: str, opened: Opened, generated: Shown) -> None:
    """The weight that the page computes from vectors and bias is the one of the table."""
    file, recording = generated
    opened.begin(file)
    page = opened.page
    opened.show("why")
    page.click(f"[data-value={kind}]")
    vectors, weights_LHTS = recording.vectors[kind], recording.attention.of(kind)  # type: ignore[index]
    assert vectors.bias_HTS is not None
    for layer, head, row, column in ((0, 1, 7, 2), (1, 3, 4, 4)):
        page.locator('[aria-label="Layer"] button').nth(layer).click()
        page.locator('[aria-label="Head"] button').nth(head).click()
        page.select_option("#why-row", str(row))
        page.select_option("#why-column", str(column))
        opened.settle()
        text = page.inner_text("#view-why").replace("−", "-")
        bias = vectors.bias_HTS[head, row, column]
        score = vectors.q_LTHK[layer, row, head] @ vectors.k_LSHK[layer, column, head] / np.sqrt(8) + bias
        shown = re.search(r", (plus|minus) (\S+) for the distance: score (\S+)\.\n", text)
        assert shown is not None
        assert float(shown[2]) * (-1 if shown[1] == "minus" else 1) == pytest.approx(bias, abs=0.006)
        assert float(shown[3]) == pytest.approx(score, abs=0.01)
        weight = weights_LHTS[layer, head, row, column]
        assert f"with weight {weight:.4f}" in text
        found = page.inner_text("#view-why .scores tr.here td:last-child")
        assert float(found) == pytest.approx(weight, abs=6e-4)


def test_an_output_that_is_given_shows_what_was_expected(opened: Opened, given: Shown) -> None:
    file, recording = given
    opened.begin(file)
    page = opened.page
    opened.show("predict")
    places = page.locator("#view-predict .text button")
    assert places.count() == len(recording.written_ids)
    places.first.focus()
    opened.settle()
    assert page.inner_text("#view-predict .account h3") == "At the beginning"
    last = recording.expected[-1]
    assert last is not None
    places.last.hover()
    panel = page.inner_text("#view-predict .panel")
    assert "The output goes on with “⟨end⟩”" in panel
    assert f"number {last.rank} in likelihood" in panel or last.rank == 1
    assert "of the input" in panel
    page.mouse.move(2, 2)
    opened.show("effects")
    outcome = page.inner_text("#view-effects .outcome").lower()
    assert "less likely are highlighted" in outcome
    assert "after" not in outcome  # nothing was generated again
    assert page.locator("#view-effects .outcome .lost").count() >= 3


def test_the_search_of_a_text_shows_what_was_generated_without_a_word(opened: Opened, generated: Shown) -> None:
    opened.begin(generated[0])
    opened.show("search")
    assert "Where this hypothesis looks in the input" in opened.page.inner_text("#view-search")
    opened.show("effects")
    buttons = opened.page.locator("#view-effects .text button")
    for number in range(buttons.count()):
        buttons.nth(number).click()
        opened.settle()
        outcome = opened.page.inner_text("#view-effects .outcome")
        if "Not written again" not in outcome:
            assert "score" in outcome.split("AFTER")[1]
            return
    raise AssertionError("no word was measured with a new output")


def test_nothing_sticks_out_on_a_phone(opened: Opened, generated: Shown, given: Shown) -> None:
    for (file, _), views in ((generated, GENERATED), (given, GIVEN)):
        opened.begin(file)
        resize(opened.page, 390, 800)
        for view in views:
            opened.show(view)
            width, sticking_out, _ = opened.page.evaluate(LAYOUT)
            assert (width, sticking_out) == (390, [])
        resize(opened.page, **SIZE)
