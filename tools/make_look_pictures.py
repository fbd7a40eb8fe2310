"""Make the pictures of `hark look` (docs/pictures/look-*) with a model and a real browser.

    python -m tools.make_look_pictures [MODEL] [--sentence TEXT]
    python -m tools.make_look_pictures --decoder MODEL

Requires Chromium and playwright (the dev extra). Views are screenshots; the paper's figures 3 to 5 are saved with the
page's own button, one for each head that a preset finds. With --decoder, only the picture of a model of one stack is
made (look-predictions). The text of the pages is printed, to check what is written about the pictures.
"""

import argparse
import base64
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from playwright.sync_api import sync_playwright

from hark.inspect.look import look_at_text, look_inside
from hark.inspect.presets import PRESETS
from hark.inspect.reading import TextModel
from hark.models import named_folder
from hark.translate.load import Loaded

OUTPUT = Path(__file__).parent.parent / "docs" / "pictures"
SENTENCE = "We must close the window before we leave the house."
TEXT = (
    "Mr Quillfeather opened the letter. It came from Mrs Vandersnoot, who had not written to him for years. “Well,” "
    "said Mr Quill"
)
WRITTEN, POINTED_AT = 8, 1
"""Tokens that a decoder writes after it, and the one of them to point at."""
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
SHOTS = {"sentence": "translation", "search": "search", "effects": "what-if", "why": "why"}
DARK = "why"
"""The view that is shown in dark colours."""
WIDTH, TALLEST = 1160, 1100
# Returns what the save button of the page would download, as base64.
SAVE = """() => new Promise((done) => {
  URL.createObjectURL = (blob) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result.split(",")[1]);
    reader.readAsDataURL(blob);
    return "blob:saved";
  };
  HTMLAnchorElement.prototype.click = () => {};
  document.querySelector('[aria-label="Save this view as SVG"]').click();
})"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="en-de", help="folder, run or name (default: en-de)")
    parser.add_argument("--sentence", default=SENTENCE)
    parser.add_argument("--decoder", metavar="MODEL", help="a decoder alone")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    chromium = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        if arguments.decoder:
            show_predictions(browser, TextModel.open(named_folder(arguments.decoder)), Path(folder))
            return
        loaded = Loaded.named(arguments.model)
        page, recording = look_inside(loaded, arguments.sentence)
        print_lines(recording.sentence, recording.translation)
        url = write_page(page.html, Path(folder))
        for view, name in SHOTS.items():
            take_screenshot(open_page(browser, url, "dark" if view == DARK else "light"), view, name)
        for name in PRESETS:
            page, recording = look_inside(loaded, preset=name)
            print_lines(f"--preset {name}: {recording.sentence}", recording.translation)
            url = write_page(page.html, Path(folder))
            save_figures(open_page(browser, url), f"look-{name}")
            if name == "long-distance":
                take_screenshot(open_page(browser, url), "sentence", "verb", attention_of_last_word=True)
        browser.close()


def show_predictions(browser: Any, model: TextModel, folder: Path) -> None:
    html, _ = look_at_text(model, TEXT, WRITTEN)
    page = open_page(browser, write_page(html.html, folder))
    page.locator("#view-predict .own").nth(POINTED_AT).click()
    take_screenshot(page, "predict", "predictions")


def print_lines(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def write_page(html: str, folder: Path) -> str:
    (file := folder / "look.html").write_text(html, encoding="utf-8")
    return file.as_uri()


def open_page(browser: Any, url: str, scheme: str = "light") -> Any:
    page = browser.new_page(viewport={"width": WIDTH, "height": TALLEST}, color_scheme=scheme)
    page.goto(url)
    wait_until_ready(page)
    return page


def wait_until_ready(page: Any) -> None:
    page.wait_for_selector("#hark-look[aria-busy=false]")


def take_screenshot(page: Any, view: str, name: str, attention_of_last_word: bool = False) -> None:
    """Take a screenshot of a view down to the footer, up to the maximum height; optionally with the attention of the
    last word of the translation, where German has its verbs."""
    page.click(f"#tab-{view}")
    wait_until_ready(page)
    if attention_of_last_word:
        page.locator(".text.written button.word:not(.glued)").last.click()
        print_lines(f"look-{name}.png, before the switch: {text_of(page, view)}")
        page.get_by_text("Where it looked").click()
        page.mouse.move(0, 0)
        wait_until_ready(page)
    footer = page.evaluate("() => document.querySelector('footer').getBoundingClientRect().top")
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": min(TALLEST, footer)}
    page.screenshot(path=OUTPUT / f"look-{name}.png", clip=clip)
    print_lines(f"look-{name}.png: {text_of(page, view)}")


def text_of(page: Any, view: str) -> str:
    """The text of a view; of the first view, only the text below the sentences."""
    text = page.locator(".view:visible .panel" if view == "sentence" else ".view:visible").first.inner_text()
    return " | ".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def save_figures(page: Any, name: str) -> None:
    """Save the first figure of a preset, and then that of each further head."""
    heads = page.locator("main li button")
    for number in range(heads.count()):
        if number:
            heads.nth(number).click()
            wait_until_ready(page)
        file = f"{name}-{number + 1}.svg" if number else f"{name}.svg"
        (OUTPUT / file).write_bytes(base64.b64decode(page.evaluate(SAVE)))
        head = page.locator("main li").nth(number).inner_text()
        text = page.locator(".said:visible").inner_text()
        print_lines(f"{file}: " + " | ".join([head, text] if "looks at" in text else [head]))


if __name__ == "__main__":
    main()
