"""The log: one JSON object per line, whoever writes it, and no text of users."""

import concurrent.futures
import io
import json
import logging
import sys
import threading
import warnings
from typing import Any

import pytest

from hark.errors import HarkWarning
from hark.serve.observation import Log, everything_in

SECRET = "Zanzibar 4711"


def fail() -> None:
    raise ValueError(SECRET)


class Lost:
    def __del__(self) -> None:
        fail()


def write_in_every_way() -> None:
    warnings.warn("/root: cannot be read", HarkWarning, stacklevel=1)
    warnings.warn(SECRET, UserWarning, stacklevel=1)
    for name in ("uvicorn.error", "asyncio", "python_multipart", "some.library", None):
        logging.getLogger(name).warning("the request %s is odd", SECRET)
        logging.getLogger(name).info("not worth a line")
    try:
        fail()
    except ValueError:
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application\n")
    future: concurrent.futures.Future[None] = concurrent.futures.Future()
    future.add_done_callback(lambda _: fail())
    future.set_result(None)
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    lost: Any = Lost()
    del lost


@pytest.mark.filterwarnings("always")
def test_whatever_is_written_is_one_json_object_per_line_without_text(capfd: pytest.CaptureFixture[str]) -> None:
    written = io.StringIO()
    hooks = threading.excepthook, sys.unraisablehook, warnings.showwarning, logging.getLogger().handlers[:]
    with everything_in(Log(written)):
        write_in_every_way()
    assert hooks == (threading.excepthook, sys.unraisablehook, warnings.showwarning, logging.getLogger().handlers)
    assert capfd.readouterr() == ("", "")
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [each["event"] for each in lines] == ["warning"] * 2 + ["server"] * 7 + ["failure"] * 2
    assert lines[0]["message"] == "/root: cannot be read"
    assert lines[1]["kind"] == "UserWarning"
    assert [each.get("error") for each in lines[7:]] == ["ValueError"] * 4
    assert SECRET not in written.getvalue()
    assert all({"time", "level", "event"} <= each.keys() for each in lines)
