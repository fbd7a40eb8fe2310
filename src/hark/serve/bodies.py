"""The bodies of requests, as typed fields of JSON, forms and queries, and those of answers, as JSON."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Coroutine, Iterable
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse


class Refusal(Exception):  # noqa: N818  # not a fault
    """A request is refused: the HTTP status, one line for the client, and the seconds to wait before a retry.

    Each API formats it in its own dialect.
    """

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after = status, message, retry_after


MAX_FIELDS, MAX_FILES = 2_000, 4
"""Of a multipart form."""
MAX_FIELD_BYTES = 16 << 20
"""Of a field of a multipart form that is not a file; the limit of the body is lower by default."""
MAX_SHOWN_CHARS = 60
"""Of a name that is repeated in an error message."""
TRUE, FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off", "")


class Fields:
    """The fields of a request. Each has a list of values: strings from forms, any JSON value from JSON."""

    def __init__(self, values: dict[str, list[Any]], exact: bool = False) -> None:
        """`exact`: numbers and flags must be JSON's, not strings."""
        self._values, self._exact = values, exact

    @classmethod
    def of(cls, json_object: dict[str, Any], exact: bool = False) -> "Fields":
        return cls({name: [value] for name, value in json_object.items()}, exact)

    def __contains__(self, name: str) -> bool:
        return any(value is not None for value in self._values.get(name, ()))

    @property
    def names(self) -> set[str]:
        """The names of all fields that are given, and not null."""
        return {name for name in self._values if name in self}

    def text(self, name: str) -> str | None:
        """A string, without NUL and valid in UTF-8."""
        value = self.value(name, "a string")
        return None if value is None else check_text(name, value)

    def texts(self, name: str) -> list[str] | None:
        """A string, several fields of this name, or a JSON list of strings; None if there is none."""
        if name not in self:
            return None
        values = self._values[name]
        if len(values) == 1 and isinstance(values[0], list):
            values = values[0]
        return [check_text(name, value, "a string or a list of strings") for value in values]

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.value(name, "true or false")
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        if isinstance(value, str | int) and str(value).lower() in TRUE + FALSE and not self._exact:
            return str(value).lower() in TRUE
        raise wrong(name, "true or false")

    def number(self, name: str, default: int) -> int:
        value = self.value(name, "a whole number")
        if value is None:
            return default
        if isinstance(value, str) and re.fullmatch(r"-?\d{1,9}", value, re.ASCII) and not self._exact:
            return int(value)
        if isinstance(value, float) and value.is_integer() and abs(value) < 1e9:
            return int(value)
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 10**9:
            raise wrong(name, "a whole number")
        return value

    def file(self, name: str) -> UploadFile | None:
        value = self.value(name, "a file")
        if value is not None and not isinstance(value, UploadFile):
            raise wrong(name, "a file")
        return value

    def value(self, name: str, wanted: str = "one value") -> Any:
        """A value of any type; None if it is missing. `wanted` says in a refusal what it must be."""
        values = self._values.get(name, ())
        if len(values) > 1:
            raise wrong(name, wanted)
        return values[0] if values else None


async def read_json(request: Request) -> Fields:
    """The fields of a JSON object. The content type must say JSON: no page of another origin can send that unasked."""
    if content_type(request) != "application/json":
        raise Refusal(415, "send JSON, with the header Content-Type: application/json")
    return json_fields(await request.body(), exact=True)


async def read_fields(request: Request) -> Fields:
    """The fields of a query and of a body: JSON, a form or a multipart form, also of a GET. The body wins."""
    try:
        values = collect(parse_form(request.scope["query_string"]))
        kind = content_type(request)
        if kind == "multipart/form-data":
            form = StrictMultiPartParser(request.headers, request.stream(), max_files=MAX_FILES, max_fields=MAX_FIELDS)
            form.max_part_size = MAX_FIELD_BYTES
            return Fields(values | collect((await form.parse()).multi_items()))
        body = await request.body()
        if kind == "application/x-www-form-urlencoded":
            return Fields(values | collect(parse_form(body)))
    except MultiPartException as error:
        raise Refusal(400, f"the form is invalid: {error.message}") from None
    except UnicodeDecodeError:
        raise Refusal(400, "the form is not valid UTF-8") from None
    except ValueError:
        raise Refusal(400, "the form has too many fields") from None
    # Clients forget to say that they send JSON; plain text is what a page of another origin could send unasked.
    if kind == "application/json" or (kind != "text/plain" and body.lstrip()[:1] == b"{"):
        values |= json_fields(body)._values if body.strip() else {}
    return Fields(values)


def parse_form(body: bytes) -> list[tuple[str, str]]:
    """The fields of a form or a query. Invalid UTF-8 raises an error, unlike in Starlette."""
    return parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)


class StrictMultiPartParser(MultiPartParser):
    """Starlette's parser, but text that is not valid UTF-8 is an error."""

    def on_part_end(self) -> None:
        part = self._current_part
        if part.file is None:
            try:
                bytes(part.data).decode()
            except UnicodeDecodeError:
                raise MultiPartException("a field is not valid UTF-8") from None
        super().on_part_end()


def json_fields(body: bytes, exact: bool = False) -> Fields:
    try:
        found = json.loads(body.decode("utf-8-sig"), parse_constant=refuse_constant)
    except UnicodeDecodeError:
        raise Refusal(400, "the body is not valid UTF-8") from None
    except RecursionError:
        raise Refusal(400, "the JSON is nested too deeply") from None
    except ValueError as error:
        where = f" (line {error.lineno}, column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
        raise Refusal(400, f"the body is not valid JSON{where}") from None
    if not isinstance(found, dict):
        raise Refusal(400, "the JSON must be an object")
    return Fields.of(found, exact)


def refuse_constant(name: str) -> None:
    raise ValueError(name)  # NaN and Infinity are not JSON


def collect(items: Iterable[tuple[str, Any]]) -> dict[str, list[Any]]:
    values: dict[str, list[Any]] = {}
    for name, value in items:
        values.setdefault(name, []).append(value)
    return values


def check_text(name: str, value: object, wanted: str = "a string") -> str:
    """Return a string that can be translated and sent back."""
    if not isinstance(value, str):
        raise wrong(name, wanted)
    if "\0" in value:
        raise Refusal(400, f"{shown(name)} contains a NUL character")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Refusal(400, f"{shown(name)} is not valid Unicode: it contains half a surrogate pair") from None
    return value


def wrong(name: str, wanted: str) -> Refusal:
    return Refusal(400, f"{shown(name)} must be {wanted}")


def shown(name: str) -> str:
    """A name of a field for an error message."""
    return name[:MAX_SHOWN_CHARS].encode("ascii", "backslashreplace").decode()


def content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


class CompactJson(Response):
    """JSON without spaces, and with letters as they are."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return compact(content).encode()


def compact(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def refuse(refusal: Refusal) -> Response:
    return refuse_with(refusal, {"error": {"message": refusal.message, "status": refusal.status}})


def refuse_with(refusal: Refusal, content: dict[str, Any]) -> Response:
    """A refusal in the words of any API, with the headers that all of them have."""
    response = CompactJson(content, refusal.status)
    if refusal.retry_after is not None:
        response.headers["retry-after"] = str(refusal.retry_after)
    if refusal.status == 408:
        response.headers["connection"] = "close"
    return response


async def answer_patiently(work: Coroutine[Any, Any, Any], seconds: float) -> Response:
    """Return the result of `work` as JSON. If it takes longer than `seconds`, begin the answer with spaces.

    An error before that has a status of its own; one after it closes the connection, which the client notices.
    """
    task = asyncio.create_task(work)
    try:
        done, _ = await asyncio.wait([task], timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if done:
        return CompactJson(task.result())
    return StreamingResponse(_spaces(task, seconds), media_type=CompactJson.media_type)


async def _spaces(task: "asyncio.Task[Any]", seconds: float) -> AsyncIterator[bytes]:
    try:
        while not task.done():
            yield b" "
            await asyncio.wait([task], timeout=max(seconds, 0.1))
        yield CompactJson().render(task.result())
    finally:
        task.cancel()
