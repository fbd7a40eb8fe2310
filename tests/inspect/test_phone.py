"""The page on a phone: nothing is wider than the screen, tabs are in one row, and lines cross no word."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from hark.inspect.page import render
from tests.inspect.browser import Opened, resize
from tests.inspect.made_up import make_effects, make_recording
from tests.inspect.scripts import ARABIC, ENGLISH, GERMAN, HEBREW, tokenizer

VIEWS = ("sentence", "grid", "lines", "matrix", "why", "search", "effects")
WIDTH = 390
LONG_WORD = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen"
TEXTS = {
    "long": (ENGLISH, GERMAN),
    "short": ("the cat sleeps", "die Katze schläft"),
    "one long word": (f"the {LONG_WORD} sleeps", f"der {LONG_WORD} schläft unter dem Baum"),
    "from the right": (ARABIC, HEBREW),
}
LAYOUT = """() => {
  const scrolls = (each) => each && (getComputedStyle(each).overflowX !== "visible" || scrolls(each.parentElement));
  const visible = (each) => each.getBoundingClientRect().width && !scrolls(each.parentElement);
  const stickingOut = [...document.querySelectorAll("#hark-look *")]
    .filter((each) => visible(each) && each.getBoundingClientRect().right > innerWidth + 0.5)
    .map((each) => `${each.tagName}.${each.className}`);
  const tabs = [...document.querySelectorAll("[role=tab]")].map((each) => each.getBoundingClientRect().toJSON());
  return [document.documentElement.scrollWidth, stickingOut, tabs];
}"""
"""The width of the page, the elements that stick out of it, and the boxes of the tabs."""
CROSSED = """async () => {
  const root = document.getElementById("hark-look");
  const canvas = document.querySelector(".links");
  const words = [...document.querySelectorAll("#view-sentence .word")];
  const pair = canvas.parentElement;
  const size = () => [pair.offsetWidth, pair.offsetHeight].join();
  const found = [];
  for (const word of words) {
    const before = size();
    word.click();
    for (let turn = 0; root.ariaBusy !== "false"; turn++)
      await (turn < 100 ? null : new Promise((done) => setTimeout(done)));
    if (size() !== before) // then the lines are drawn again, with the next frame
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const [frame, pixels] = [canvas.getBoundingClientRect(), new Uint32Array(data.buffer)];
    const inked = ({ left, top, right, bottom }) => {
      const [first, last] = [Math.max(0, Math.floor(left - frame.left + 1)), Math.min(width, right - frame.left - 1)];
      const [above, below] = [Math.max(0, Math.floor(top - frame.top + 1)), Math.min(height, bottom - frame.top - 1)];
      for (let y = above; y < below; y++)
        for (let x = first; x < last; x++)
          if (pixels[y * width + x] !== 0) return true;
      return false;
    };
    const crossed = words.filter((each) => inked(each.getBoundingClientRect())).map((each) => each.textContent);
    found.push([word.textContent, pixels.some((each) => each !== 0), crossed]);
  }
  return found;
}"""
"""For each word, clicked: whether lines are drawn, and the words that they cross. In one call, and without waiting for
frames that nobody sees: both would take much longer."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages with as many layers and heads as the model that comes with hark."""
    folder = tmp_path_factory.mktemp("phone")
    found = {}
    for name, (source, written) in TEXTS.items():
        recording = make_recording(tokenizer(), source, written, layers=12, heads=5)
        found[name] = folder / f"{name}.html"
        render(recording, tokenizer(), make_effects(recording)).save(found[name])
    return found


@pytest.fixture(scope="module")
def phone(browser: Any) -> Opened:
    return Opened(browser.new_context(viewport={"width": WIDTH, "height": 844}, has_touch=True))


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_is_wider_than_the_screen_and_the_open_tab_is_visible(
    phone: Opened, pages: dict[str, Path], name: str
) -> None:
    phone.begin(pages[name])
    for view in (*VIEWS, VIEWS[0]):
        phone.show(view)
        width, sticking_out, boxes = phone.page.evaluate(LAYOUT)
        assert width == WIDTH, view
        assert sticking_out == [], view
        assert len({box["y"] for box in boxes}) == 1, view  # one row
        open_one = boxes[VIEWS.index(view)]
        assert open_one["x"] >= 0, view
        assert open_one["x"] + open_one["width"] <= WIDTH, view
    assert phone.wrong == []


def test_the_chosen_layer_of_twelve_is_visible(phone: Opened, pages: dict[str, Path]) -> None:
    phone.begin(pages["long"])
    phone.show("lines")
    phone.page.click("[data-value=encoder]")
    layers = phone.page.locator('[aria-label="Layer"]')
    for number in (12, 1):
        layers.locator("button", has_text=str(number)).first.click()
        phone.settle()
        row, chosen = layers.bounding_box(), layers.locator("[aria-checked=true]").bounding_box()
        assert row["x"] + row["width"] <= WIDTH
        assert row["x"] <= chosen["x"]
        assert chosen["x"] + chosen["width"] <= row["x"] + row["width"] + 1


def test_a_wide_table_scrolls_in_its_box(phone: Opened, pages: dict[str, Path]) -> None:
    phone.begin(pages["one long word"])
    phone.page.locator("#view-sentence .written .word").nth(1).click()
    box = "#view-sentence .wide"
    assert phone.page.eval_on_selector(box, "(each) => each.scrollWidth > each.clientWidth")
    phone.page.eval_on_selector(box, "(each) => each.scrollBy(500, 0)")
    assert phone.page.eval_on_selector(box, "(each) => each.scrollLeft") > 0
    assert phone.page.evaluate("document.documentElement.scrollWidth") == WIDTH


@pytest.mark.parametrize(("name", "width"), [("long", 700), *product(TEXTS, (WIDTH, 1280))])
def test_lines_cross_no_word(desktop: Opened, pages: dict[str, Path], name: str, width: int) -> None:
    resize(desktop.page, width, 844)
    desktop.begin(pages[name])
    found = desktop.page.evaluate(CROSSED)
    assert [(word, crossed) for word, _, crossed in found if crossed] == []
    assert len([word for word, drawn, _ in found if drawn]) > 2
    assert desktop.wrong == []
