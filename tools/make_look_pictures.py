"""Make the pictures of `hark look` (docs/pictures/look-*), from a model, in a real browser.

    python tools/make_look_pictures.py MODEL [--sentence TEXT]

Needs Chromium and playwright (the dev extra). Views are photographed as a person sees them; the paper's figures 3 to 5
are saved by the page's own button.
"""

import argparse
import base64
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
from playwright.sync_api import sync_playwright

from hark.decode.load import Loaded
from hark.inspect.look import look_inside
from hark.inspect.presets import PRESETS

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
    parser.add_argument("model", type=Path)
    parser.add_argument("--sentence", default=SENTENCE)
    given = parser.parse_args()
    torch.set_num_threads(1)
    loaded = Loaded(given.model)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page, _ = look_inside(loaded, given.sentence)
        photograph(browser, written(page.html, Path(folder)))
        for name in PRESETS:
            page, _ = look_inside(loaded, preset=name, changes=0)
            save_figure(browser, written(page.html, Path(folder)), OUTPUT / f"look-{name}.svg")
        browser.close()


def written(html: str, folder: Path) -> str:
    file = folder / "look.html"
    file.write_text(html, encoding="utf-8")
    return file.as_uri()


def opened(browser: Any, url: str, scheme: str = "light") -> Any:
    page = browser.new_page(viewport={"width": WIDTH, "height": TALLEST}, color_scheme=scheme)
    page.goto(url)
    page.wait_for_selector("#hark-look[aria-busy=false]")
    return page


def photograph(browser: Any, url: str) -> None:
    """Views down to the footer, or as far as a picture may be tall."""
    for view, (name, scheme) in SHOTS.items():
        page = opened(browser, url, scheme)
        page.click(f"#tab-{view}")
        page.wait_for_selector("#hark-look[aria-busy=false]")
        footer = page.evaluate("() => document.querySelector('footer').getBoundingClientRect().top")
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": min(TALLEST, footer)}
        page.screenshot(path=OUTPUT / f"look-{name}.png", clip=clip)


def save_figure(browser: Any, url: str, path: Path) -> None:
    page = opened(browser, url)
    path.write_bytes(base64.b64decode(page.evaluate(SAVE)))


if __name__ == "__main__":
    main()
