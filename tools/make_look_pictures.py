"""Make the pictures of `hark look` (docs/pictures/look-*), from a model, in a real browser.

    python -m tools.make_look_pictures [MODEL] [--sentence TEXT]

Needs Chromium and playwright (the dev extra). Views are photographed as a person sees them; the paper's figures 3 to 5
are saved by the page's own button, one for each head that a preset found. What the pages say beside the pictures goes
to stdout, so that what is written about them can be checked.
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

from hark.decode.load import Loaded
from hark.inspect.look import look_inside
from hark.inspect.presets import PRESETS
from hark.models import named_folder

OUTPUT = Path(__file__).parent.parent / "docs" / "pictures"
SENTENCE = "We must close the window before we leave the house."
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
SHOTS = {"sentence": ("translation", "light"), "search": ("search", "light"), "effects": ("what-if", "light"),
         "why": ("why", "dark")}  # fmt: skip
WIDTH, TALLEST = 1160, 1100
# What the page's button for saving would download, as base64.
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
    parser.add_argument("model", nargs="?", default="en-de", help="a folder, a run or a name (default: en-de)")
    parser.add_argument("--sentence", default=SENTENCE)
    given = parser.parse_args()
    torch.set_num_threads(1)
    loaded = Loaded(named_folder(given.model))
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page, recording = look_inside(loaded, given.sentence)
        tell(recording.sentence, recording.translation)
        url = written(page.html, Path(folder))
        for view, (name, scheme) in SHOTS.items():
            photograph(opened(browser, url, scheme), view, name)
        for name in PRESETS:
            page, recording = look_inside(loaded, preset=name)
            tell(f"--preset {name}: {recording.sentence}", recording.translation)
            url = written(page.html, Path(folder))
            save_figures(opened(browser, url), f"look-{name}")
            if name == "long-distance":
                photograph(opened(browser, url), "sentence", "verb", attention_of_last_word=True)
        browser.close()


def tell(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def written(html: str, folder: Path) -> str:
    file = folder / "look.html"
    file.write_text(html, encoding="utf-8")
    return file.as_uri()


def opened(browser: Any, url: str, scheme: str = "light") -> Any:
    page = browser.new_page(viewport={"width": WIDTH, "height": TALLEST}, color_scheme=scheme)
    page.goto(url)
    settle(page)
    return page


def settle(page: Any) -> None:
    page.wait_for_selector("#hark-look[aria-busy=false]")


def photograph(page: Any, view: str, name: str, attention_of_last_word: bool = False) -> None:
    """A view down to the footer, or as far as a picture may be tall; if asked, with the attention of the translation's
    last word, where German keeps its verbs."""
    page.click(f"#tab-{view}")
    settle(page)
    if attention_of_last_word:
        page.locator(".text.written button.word:not(.glued)").last.click()
        tell(f"look-{name}.png, before the switch: {said_in(page, view)}")
        page.get_by_text("Where it looked").click()
        page.mouse.move(0, 0)
        settle(page)
    footer = page.evaluate("() => document.querySelector('footer').getBoundingClientRect().top")
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": min(TALLEST, footer)}
    page.screenshot(path=OUTPUT / f"look-{name}.png", clip=clip)
    tell(f"look-{name}.png: {said_in(page, view)}")


def said_in(page: Any, view: str) -> str:
    """The words of a view; of the first one those below the sentences."""
    said = page.locator(".view:visible .panel" if view == "sentence" else ".view:visible").first.inner_text()
    return " | ".join(" ".join(line.split()) for line in said.splitlines() if line.strip())


def save_figures(page: Any, name: str) -> None:
    """What a preset's page shows first, and then each further head that was found, by itself."""
    heads = page.locator("main li button")
    for number in range(heads.count()):
        if number:
            heads.nth(number).click()
            settle(page)
        file = f"{name}-{number + 1}.svg" if number else f"{name}.svg"
        (OUTPUT / file).write_bytes(base64.b64decode(page.evaluate(SAVE)))
        found = page.locator("main li").nth(number).inner_text()
        said = page.locator(".said:visible").inner_text()
        tell(f"{file}: " + " | ".join([found, said] if "looks at" in said else [found]))


if __name__ == "__main__":
    main()
