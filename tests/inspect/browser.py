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


UNTIL = """([given, patience]) => new Promise((done, fail) => {
  const test = TEST;
  const end = (act, result) => {
    watch.disconnect();
    [timer, limit].forEach(clearTimeout);
    act(result);
  };
  const look = () => {
    try {
      const found = test(given);
      if (found) end(done, found);
    } catch (error) {
      end(fail, error);
    }
  };
  const watch = new MutationObserver(look);
  watch.observe(document, { attributes: true, characterData: true, childList: true, subtree: true });
  const timer = setInterval(look, 50); // for what is not in the document: styles, values of fields
  const limit = setTimeout(() => end(fail, new Error(`waited in vain for ${given}: ${test}`)), patience);
  look();
})"""
SEEN = """([selector, visible]) => {
  const found = document.querySelector(selector);
  if (!found || !visible) return found !== null;
  const { width, height } = found.getBoundingClientRect();
  return width > 0 && height > 0 && found.checkVisibility({ visibilityProperty: true });
}"""
SHOW = """async ([view, patience]) => {
  const late = new Promise((_, fail) => setTimeout(fail, patience, new Error(`${view ?? "a view"} is not drawn`)));
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const root = document.getElementById("hark-look");
  const drawn = async () => {
    while (root.ariaBusy !== "false") await frame();
    for (let frames = 0; frames < 2; frames++) await frame();
  };
  if (view === null) return Promise.race([drawn(), late]);
  const tab = document.getElementById(`tab-${view}`);
  tab.scrollIntoViewIfNeeded();
  const { left, top, width, height } = tab.getBoundingClientRect();
  if (document.elementFromPoint(left + width / 2, top + height / 2) !== tab) throw new Error(`${view}: a covered tab`);
  tab.click();
  await Promise.race([drawn(), late]);
  const shown = document.getElementById(`view-${view}`);
  if (!shown.checkVisibility() || !shown.offsetHeight) throw new Error(`${view} is not visible`);
}"""
"""Opens a view, unless it is null, and waits until it is drawn. Playwright's click and waits, which are several calls,
take twice the CPU time."""
REMAKE = """() => {
  const root = document.createElement("main");
  root.id = "hark-look";
  document.getElementById(root.id).replaceWith(root);
  const [old, again] = [document.querySelector("script[type=module]"), document.createElement("script")];
  Object.assign(again, { type: "module", textContent: old.textContent });
  old.replaceWith(again);
  scrollTo(0, 0);
}"""


def until(page: Any, test: str, given: Any = None) -> Any:
    """Wait until a JavaScript function returns something true, and return that. Playwright calls it with every frame,
    and so keeps the page drawing; here it is called when the document changes."""
    return page.evaluate(UNTIL.replace("TEST", test), [given, PATIENCE])


def resize(page: Any, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    until(page, "([width, height]) => innerWidth === width && innerHeight === height", [width, height])


def appear(page: Any, selector: str, visible: bool = True) -> None:
    """Wait for an element, by its CSS selector."""
    until(page, SEEN, [selector, visible])


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
        """Load a page."""
        self._forget()
        self.page.goto(file.as_uri())
        self._wait()

    def begin(self, file: Path) -> None:
        """Show a page as it is at first. If it is the one that is loaded, its script runs again in a new element, which
        takes a quarter of the CPU time."""
        if self.page.url == file.as_uri():
            self._forget()
            self.page.evaluate(REMAKE)
            self._wait()
        else:
            self.goto(file)

    def _forget(self) -> None:
        self.wrong.clear()
        self.requests.clear()

    def _wait(self) -> None:
        appear(self.page, "#hark-look[aria-busy=false] :is(#view-sentence, #view-predict) .panel > *", visible=False)

    def show(self, view: str) -> Any:
        """Open a view by its tab; return its panel."""
        self.page.evaluate(SHOW, [view, PATIENCE])
        return self.page.locator(f"#view-{view}")

    def settle(self) -> None:
        """Wait until everything is drawn."""
        self.page.evaluate(SHOW, [None, PATIENCE])

    def said(self, view: str) -> str:
        return str(self.page.inner_text(f"#view-{view} .said"))

    def inked(self, selector: str) -> int:
        """The number of different colours on a canvas: one if it is empty."""
        return int(
            until(
                self.page,
                """(selector) => {
                  const canvas = document.querySelector(selector);
                  if (!canvas.width) return 0;
                  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
                  return new Set(new Uint32Array(data.buffer)).size;
                }""",
                selector,
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


@pytest.fixture(scope="session")
def desktop(browser: Any) -> Opened:
    """A page without a network."""
    return Opened(browser.new_context(viewport={"width": 1200, "height": 900}, accept_downloads=True, offline=True))
