"""Count the files of Hark that a sentence, a request and a document cross: how much there is to read to follow one.

    python -m tools.crossings [--files]

A file counts if one of its functions is called (with `sys.settrace`), by the second sentence and request, and from the
start of the command for a document; what runs while modules are imported does not count. There are no models but those
that come with Hark. The figures are in ARCHITECTURE.md.
"""

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from inspect import CO_OPTIMIZED
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import httpx
from docx import Document

import hark
import hark.cli
from hark.serve.server import listen, make_server, url_of
from hark.serve.settings import ServeSettings

SOURCE = str(Path(hark.__file__).parent)
SENTENCE, OTHER = "Where is the nearest train station?", "The weather is fine today."
LANGUAGES = {"source": "en", "target": "de"}


class Tracer:
    """Notes the files in which a function is called, in all threads that were started after it."""

    def __init__(self) -> None:
        self.found: set[str] | None = None
        threading.settrace(self)

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if self.found is None or event != "call" or not code.co_filename.startswith(SOURCE):
            return
        if code.co_flags & CO_OPTIMIZED and not is_importing(frame):  # not the body of a class
            self.found.add(code.co_filename.removeprefix(SOURCE + "/"))

    def during(self, function: Callable[[], object]) -> list[str]:
        self.found = found = set[str]()
        sys.settrace(self)
        with suppress(SystemExit):
            function()
        sys.settrace(None)
        self.found = None
        return sorted(found)


def is_importing(frame: FrameType | None) -> bool:
    while frame and not (frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(SOURCE)):
        frame = frame.f_back
    return frame is not None


def follow_sentence(tracer: Tracer) -> list[str]:
    model = hark.load("seven")
    model.translate(OTHER, **LANGUAGES)
    return tracer.during(lambda: model.translate(SENTENCE, **LANGUAGES))


def follow_request(tracer: Tracer) -> list[str]:
    settings = ServeSettings(port=0)
    listening = listen(settings)
    server = make_server(settings)
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
    thread.start()
    with httpx.Client(base_url=url_of(settings, listening), timeout=600, verify=False) as client:
        while not server.started:
            thread.join(0.1)

        def send(text: str) -> None:
            client.post("/translate", json={"q": text, **LANGUAGES}).raise_for_status()

        send(OTHER)
        found = tracer.during(lambda: send(SENTENCE))
    server.should_exit = True
    thread.join()
    return found


def follow_document(tracer: Tracer) -> list[str]:
    with TemporaryDirectory() as folder:
        letter = Document()
        letter.add_heading("A letter", 1)
        letter.add_paragraph("Dear Anna, this is ").add_run("very").bold = True
        letter.paragraphs[-1].add_run(" important.")
        letter.save(f"{folder}/letter.docx")
        sys.argv = ["hark", "translate", "-t", "de", f"{folder}/letter.docx"]
        return tracer.during(hark.cli.main)


def main() -> None:
    tracer, files = Tracer(), "--files" in sys.argv
    os.environ.update(HARK_MODELS="", XDG_DATA_HOME=os.devnull)
    for name, follow in (("document", follow_document), ("sentence", follow_sentence), ("request", follow_request)):
        found = follow(tracer)
        sys.stdout.write(f"{name}: {len(found)} files\n" + "".join(f"  {file}\n" for file in found if files))


if __name__ == "__main__":
    main()
