"""The page of a model of one stack, in a real Chromium."""

from pathlib import Path
from typing import Any

import pytest

from hark.inspect.look import look_at_text
from hark.inspect.reading import TextModel
from tests.inspect.browser import Opened, resize
from tests.inspect.test_phone import LAYOUT
from tests.tasks.encoders import folders

VIEWS = ("predict", "grid", "lines", "matrix", "why", "effects")
SIZE = {"width": 1200, "height": 900}
TEXT = "abcdefgh. <b>x</b>\nabcdef"


@pytest.fixture
def opened(desktop: Opened) -> Opened:
    if desktop.page.viewport_size != SIZE:
        resize(desktop.page, **SIZE)
    return desktop


@pytest.fixture(scope="module")
def decoded(copyist: TextModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    page, _ = look_at_text(copyist, TEXT, max_tokens=2)
    path = tmp_path_factory.mktemp("page") / "look.html"
    page.save(path)
    return path


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page, _ = look_at_text(TextModel.open(folders("bert")[1]), "The [MASK] is old, and the house is red.")
    path = tmp_path_factory.mktemp("page") / "look.html"
    page.save(path)
    return path


@pytest.mark.parametrize("kind", ["decoder", "encoder"])
def test_every_view_renders_without_network_requests(kind: str, opened: Opened, decoded: Path, filled: Path) -> None:
    opened.goto(decoded if kind == "decoder" else filled)
    page = opened.page
    assert page.locator("[role=tab]").all_inner_texts() == [
        "Predictions", "All heads", "Lines", "Table", "Why", "What if",
    ]  # fmt: skip
    for view in VIEWS:
        opened.show(view)
        assert len(page.inner_text(f"#view-{view}")) > 20
    assert opened.inked("#view-lines canvas") > 5
    assert opened.inked("#view-matrix canvas") > 5
    assert opened.inked("#view-why canvas") >= 2
    heads = 4 if kind == "decoder" else 8
    assert page.locator("#view-grid button.head").count() == heads
    assert page.locator('[aria-label="Attention"]').count() == 0  # there is only one kind
    assert page.inner_text("header .model").endswith(f"{kind} alone")
    for name in ("SVG", "PNG"):
        file, content = opened.saved(name)
        assert file == f"hark-effects.{name.lower()}"
        assert len(content) > 500
    assert opened.wrong == []
    assert opened.outside() == []


def shown(page: Any) -> str:
    return str(page.inner_text("#view-predict .panel")).replace("\u202f", "")


def test_a_token_shows_what_else_was_expected_and_what_it_needed(opened: Opened, decoded: Path) -> None:
    opened.begin(decoded)
    page = opened.page
    assert "The text ends here" in shown(page)
    places = page.locator("#view-predict .text button")
    assert places.last.inner_text() == "…"
    assert page.locator("#view-predict .own").all_inner_texts() == ["g", "h"]  # what the model wrote
    page.locator("#view-predict .own").first.hover()
    assert "The model wrote" in shown(page)
    assert "the likeliest token" in shown(page)
    assert page.locator("#view-predict .ties tr.here th").inner_text() == "·g"
    assert page.inner_text("#view-predict .account h3").endswith("x</b>↵abcdef”")
    page.mouse.move(2, 2)
    places.first.focus()
    page.keyboard.press("ArrowRight")
    opened.settle()
    assert places.nth(1).get_attribute("aria-pressed") == "true"
    assert "The text goes on with" in shown(page)


def test_a_head_that_looks_somewhere_opens_and_what_it_does_is_measured(opened: Opened, decoded: Path) -> None:
    opened.begin(decoded)
    opened.show("lines")
    chosen = [
        opened.page.locator('[aria-label="Layer"] [aria-checked=true]').inner_text(),
        *opened.page.locator(".chip[aria-pressed=true]").all_inner_texts(),
    ]
    assert chosen in (["1", "1"], ["2", "2"])  # the other two look all over
    opened.show("effects")
    first = opened.page.locator("#view-effects .headline").first
    assert first.inner_text().split("\n")[0] in ("Head 1:1", "Head 2:2")
    first.click()
    opened.settle()
    assert "removed" in opened.page.inner_text("#view-effects .outcome h3")
    assert opened.page.locator("#view-effects .outcome .lost").count() > 3


def test_a_mask_shows_its_fillers(opened: Opened, filled: Path) -> None:
    opened.begin(filled)
    page = opened.page
    assert "A mask stands here" in shown(page)
    assert page.locator("#view-predict .text .here").inner_text() == "[MASK]"
    assert page.locator("#view-predict .ties tbody tr").count() == 8
    assert page.locator("#view-predict .text .mark").all_inner_texts() == ["⟨start⟩", "⟨end⟩"]
    opened.show("effects")
    assert page.locator("#view-effects .word.tied").count() > 3


def test_nothing_sticks_out_on_a_phone(opened: Opened, decoded: Path, filled: Path) -> None:
    for file in (decoded, filled):
        opened.begin(file)
        resize(opened.page, 390, 800)
        for view in VIEWS:
            opened.show(view)
            width, sticking_out, _ = opened.page.evaluate(LAYOUT)
            assert (width, sticking_out) == (390, [])
        resize(opened.page, **SIZE)
