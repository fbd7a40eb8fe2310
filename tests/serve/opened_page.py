"""The page of the server in a real browser, with everything that goes wrong in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.serve.conftest import TestServer

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
    """A page in a context of its own: storage, requests and errors."""

    def __init__(self, browser: Any, server: TestServer, **options: Any) -> None:
        options = {"viewport": {"width": 1200, "height": 900}, "locale": "en-GB"} | options
        self.server, self.context = server, browser.new_context(**options)
        self.context.add_init_script(VIOLATIONS)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda message: self.wrong.append(message.text) if message.type == "error" else None)
        self.page.on("dialog", lambda dialog: (self.wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))

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


@contextmanager
def opened(browser: Any, server: TestServer, **options: Any) -> Iterator[OpenedPage]:
    page = OpenedPage(browser, server, **options)
    try:
        yield page
    finally:
        page.context.close()
