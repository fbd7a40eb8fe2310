"""The page of the server in a real browser, with everything that goes wrong in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from tests.inspect.browser import PATIENCE
from tests.serve.conftest import TestServer

DESKTOP = {"width": 1200, "height": 900}
DROP = """([name, type, bytes]) => {
  const files = new DataTransfer();
  files.items.add(new File([new Uint8Array(bytes)], name, { type }));
  for (const kind of ["dragover", "drop"]) {
    const event = new DragEvent(kind, { dataTransfer: files, bubbles: true, cancelable: true });
    document.body.dispatchEvent(event);
  }
}"""
VIOLATIONS = """addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
});"""


class OpenedPage:
    """A page that begins like a first visit: with no storage, requests or errors of an earlier test."""

    def __init__(self, browser: Any, touch: bool) -> None:
        self.context = browser.new_context(viewport=DESKTOP, locale="en-GB", has_touch=touch)
        self.context.add_init_script(VIOLATIONS)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.wrong: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda message: self.wrong.append(message.text) if message.type == "error" else None)
        self.page.on("dialog", lambda dialog: (self.wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def begin(self, server: TestServer, viewport: dict[str, int], scheme: str) -> None:
        self.server = server
        self.page.set_viewport_size(viewport)
        self.page.emulate_media(color_scheme=scheme)
        self.wrong.clear()
        self.requests.clear()

    def leave(self) -> None:
        """Undo what a test did: go to another document of the server, from where its storage can be cleared."""
        self.page.unroute_all(behavior="ignoreErrors")
        self.context.set_offline(False)
        self.context.clear_permissions()
        self.context.clear_cookies()
        self.page.mouse.move(0, 0)
        self.page.goto(f"{self.server.url}/health/live")
        self.page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")

    def goto(self, tab: str = "", ready: str = ".field textarea") -> "OpenedPage":
        self.page.goto(f"{self.server.url}/{tab and '#' + tab}")
        self.page.wait_for_selector(ready, state="attached")
        return self

    def type(self, text: str) -> None:
        """Replace the text, and wait for its translation."""
        self.page.fill(".field textarea", text)
        self.wait()

    def wait(self) -> None:
        self.page.wait_for_selector(".output[aria-busy=false]:not(.failed) .result .word")

    @property
    def text(self) -> str:
        return str(self.page.input_value(".field textarea"))

    @property
    def result(self) -> str:
        return str(self.page.evaluate("document.querySelector('.result').textContent"))

    def drop(self, name: str, content: bytes, kind: str = "text/plain") -> None:
        self.page.evaluate(DROP, [name, kind, list(content)])

    def outside(self) -> list[str]:
        """Requests to anything but the server."""
        return [url for url in self.requests if not url.startswith((self.server.url, "blob:", "data:"))]

    def overflow(self) -> int:
        """By how many pixels the page is wider than the screen."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


_kept: WeakKeyDictionary[Any, dict[bool, OpenedPage]] = WeakKeyDictionary()
"""Pages of each browser, by whether they have a touch screen. Opening one takes two seconds of CPU time, and opening
another address in it a fifth of that."""


@contextmanager
def opened(
    browser: Any,
    server: TestServer,
    viewport: dict[str, int] | None = None,
    color_scheme: str = "light",
    has_touch: bool = False,
) -> Iterator[OpenedPage]:
    """A page for one test. The next test gets the same one, cleared."""
    pages = _kept.setdefault(browser, {})
    page = pages.pop(has_touch, None) or OpenedPage(browser, has_touch)
    try:
        page.begin(server, viewport or DESKTOP, color_scheme)
        yield page
        page.leave()
    except BaseException:
        page.context.close()
        raise
    pages[has_touch] = page
