"""A real browser without a network, and pages opened in it."""

import base64
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
]  # fmt: skip
PATIENCE = 600_000
"""Milliseconds to wait for a page. One second is enough, but on a busy machine Chromium may take minutes."""
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""The headless shell, which Playwright prefers too, takes a fifth less CPU time than the whole browser."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start this machine's Chromium. Without one the test is skipped, or fails if HARK_BROWSER is "required";
    `make test` installs it if possible."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        missing = pytest.fail if os.environ.get("HARK_BROWSER") == "required" else pytest.skip
        missing("Chromium is not installed: apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


class Opened:
    """A page opened from disk, and all its errors."""

    def __init__(self, context: Any) -> None:
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.wrong: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda message: self.wrong.append(message.text) if message.type == "error" else None)
        self.page.on("dialog", lambda dialog: (self.wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def goto(self, file: Path) -> None:
        self.wrong.clear()
        self.requests.clear()
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("#view-sentence .panel > *", state="attached")

    def show(self, view: str) -> Any:
        """Open a view by its tab; return its panel."""
        self.page.click(f"#tab-{view}")
        panel = self.page.locator(f"#view-{view}")
        panel.wait_for()
        self.settle()
        return panel

    def settle(self) -> None:
        """Wait until everything is drawn."""
        self.page.wait_for_selector("#hark-look[aria-busy=false]")
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def said(self, view: str) -> str:
        return str(self.page.inner_text(f"#view-{view} .said"))

    def inked(self, selector: str) -> int:
        """The number of different colours on a canvas: one if it is empty."""
        self.page.wait_for_function("(selector) => document.querySelector(selector).width > 0", arg=selector)
        return int(
            self.page.eval_on_selector(
                selector,
                """(canvas) => {
                  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
                  return new Set(new Uint32Array(data.buffer)).size;
                }""",
            )
        )

    def saved(self, kind: str) -> tuple[str, bytes]:
        """The name and bytes of the file that a save button produces; a real download takes a second."""
        name, text = self.page.evaluate(
            """(label) => new Promise((done) => {
              const [click, make] = [HTMLAnchorElement.prototype.click, URL.createObjectURL];
              let blob = null;
              URL.createObjectURL = (given) => { blob = given; return "blob:given"; };
              HTMLAnchorElement.prototype.click = function () {
                [HTMLAnchorElement.prototype.click, URL.createObjectURL] = [click, make];
                const reader = new FileReader();
                reader.onload = () => done([this.download, reader.result.split(",")[1]]);
                reader.readAsDataURL(blob);
              };
              document.querySelector(`[aria-label="${label}"]`).click();
            })""",
            f"Save this view as {kind}",
        )
        return name, base64.b64decode(text)

    def outside(self) -> list[str]:
        """Requests to the network or to other files."""
        own = self.requests[:1]
        return [url for url in self.requests if url not in own and not re.match("(data|blob):", url)]
