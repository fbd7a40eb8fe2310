"""The page of the server in a real browser, with everything that goes wrong in it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from tests.inspect.browser import PATIENCE, appear, until
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
TYPE = """(text) => {
  const area = document.querySelector(".field textarea");
  area.focus();
  area.select();
  document.execCommand("insertText", false, text);
  area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true }));
}"""
START_OVER = """() => {
  const click = (selector) => document.querySelector(selector)?.click();
  const set = (selector, value, kind) => {
    const element = document.querySelector(selector);
    if (!element) return;
    element.value = value;
    element.dispatchEvent(new Event(kind, { bubbles: true }));
  };
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
  click("#announcement .announcement > .button");
  click(".job .cancel");
  click(".job .edit");
  set("textarea.document", "", "input");
  click("[aria-label=Clear]");
  set("#panel-translate .from", "", "change");
  set("#panel-translate .into", "de", "change");
  set("#panel-translate .form", "auto", "change");
  click("#tab-document"); // to draw it
  click("#tab-translate");
  document.querySelector(".field textarea")?.focus();
  localStorage.clear();
  sessionStorage.clear();
}"""
STATE = """() => JSON.stringify([
  location.href, { ...document.documentElement.dataset }, document.activeElement.outerHTML,
  [...document.body.children].map((each) => each.outerHTML.replace(/<!--.*?-->/gs, "")),
  [...document.querySelectorAll("select, input, textarea")].map((each) => [each.value, each.checked]),
])"""
INTERCEPTED = """async (url) => {
  while ((await fetch(url, { cache: "no-store" })).status !== 204);
}"""
VIOLATIONS = """addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
});"""


class OpenedPage:
    """A page that begins like a first visit: with no storage, requests or errors of an earlier test."""

    first: str | None = None
    """The state in which it was loaded; None: another document is open."""

    def __init__(self, browser: Any, touch: bool) -> None:
        self.context = browser.new_context(viewport=DESKTOP, locale="en-GB", has_touch=touch)
        self.context.add_init_script(VIOLATIONS)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.wrong: list[str] = []
        self.requests: list[str] = []
        self._watching = False
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda message: self.wrong.append(message.text) if message.type == "error" else None)
        self.page.on("dialog", lambda dialog: (self.wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))

    def begin(self, server: TestServer, viewport: dict[str, int], scheme: str) -> None:
        self.server = server
        self.watch(False)
        self.page.set_viewport_size(viewport)
        self.page.emulate_media(color_scheme=scheme)
        self.wrong.clear()

    def goto(self, tab: str = "", ready: str = ".field textarea") -> "OpenedPage":
        self.page.goto(f"{self.server.url}/{tab and '#' + tab}")
        appear(self.page, ready, visible=False)
        if not tab and self.first is None:
            self.first = self.page.evaluate(STATE)
        return self

    def watch(self, on: bool = True) -> "OpenedPage":
        """Note all requests from now on, which takes a fifth of the CPU time of loading the page."""
        if on != self._watching:
            (self.page.on if on else self.page.remove_listener)("request", self._note)
        self._watching = on
        self.requests.clear()
        return self

    def _note(self, request: Any) -> None:
        self.requests.append(request.url)

    def start_over(self) -> "OpenedPage":
        """Bring the page that an earlier test has left open back to its first state, by its own controls; load it if
        that fails. It still knows the translations of earlier texts, and asks for none of them again."""
        self._undo()
        if self.first is not None:
            self.page.evaluate(START_OVER)
        again = self.first is not None and self.page.evaluate(STATE) == self.first
        if not again:
            self.leave()
        self.wrong.clear()
        return self if again else self.goto()

    def leave(self) -> None:
        """Undo what a test did: go to another document of the server, from where its storage can be cleared."""
        self._undo()
        self.page.goto(f"{self.server.url}/health/live")
        self.page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        self.first = None

    def _undo(self) -> None:
        self.page.unroute_all(behavior="ignoreErrors")
        self.context.set_offline(False)
        self.context.clear_permissions()
        self.context.clear_cookies()
        self.page.mouse.move(0, 0)

    def route(self, pattern: str, respond: Callable[[Any], object]) -> None:
        """Have requests of the page that is open answered by `respond`, from now on. Chromium says that it intercepts
        requests once it has sent word to the page's process, where a key pressed at once can arrive first; so wait
        until a request is intercepted."""
        address = f"{self.server.url}/health/live"
        self.page.route(address, lambda route: route.fulfill(status=204))
        self.page.route(pattern, respond)
        self.page.evaluate(INTERCEPTED, address)
        self.page.unroute(address)

    def type(self, text: str) -> None:
        """Replace the text and press Control+Enter, without which the page waits for more; wait for the translation."""
        self.page.evaluate(TYPE, text)
        self.wait()

    def wait(self) -> None:
        self.see(".output[aria-busy=false]:not(.failed) .result .word")

    def see(self, selector: str) -> None:
        """Wait for an element."""
        appear(self.page, selector)

    def miss(self, selector: str) -> None:
        """Wait until an element has gone."""
        until(self.page, "(selector) => !document.querySelector(selector)", selector)

    def until(self, test: str, given: Any = None) -> None:
        """Wait until a JavaScript function returns true."""
        until(self.page, test, given)

    @property
    def text(self) -> str:
        return str(self.page.input_value(".field textarea"))

    @property
    def result(self) -> str:
        return str(self.page.evaluate("document.querySelector('.result').textContent"))

    def drop(self, name: str, content: bytes, kind: str = "text/plain") -> None:
        self.page.evaluate(DROP, [name, kind, list(content)])

    def outside(self) -> list[str]:
        """Requests to anything but the server, since `watch`."""
        assert self._watching
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
    again: bool = False,
    stay: bool = False,
) -> Iterator[OpenedPage]:
    """A page for one test. The next test gets the same one, cleared.

    `stay`: it is left open, which a server that outlives the test allows. `again`: it may be one that was left open.
    """
    pages = _kept.setdefault(browser, {})
    page = pages.pop(has_touch, None) or OpenedPage(browser, has_touch)
    try:
        if page.first is not None and not (again and page.server is server):
            page.leave()
        page.begin(server, viewport or DESKTOP, color_scheme)
        yield page
        if not stay:
            page.leave()
    except BaseException:
        page.context.close()
        raise
    pages[has_touch] = page
