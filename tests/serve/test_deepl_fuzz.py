"""Requests with random fields to every path of DeepL's API: a clear refusal, never a failure of the server."""

from collections.abc import Iterator

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.serve.conftest import TestServer

NAMES = (
    "text", "target_lang", "source_lang", "split_sentences", "tag_handling", "ignore_tags", "splitting_tags",
    "non_splitting_tags", "outline_detection", "glossary_id", "glossary_ids", "model_type", "name", "entries",
    "entries_format", "dictionaries", "file", "document_key", "type", "context", "formality", "preserve_formatting",
)  # fmt: skip
WORDS = st.sampled_from(
    ["EN", "DE", "EN-US", "xml", "html", "a\tb", "a,b", "<b>a</b> &lt;", "0", "nonewlines", "", "é\0"]
)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.none() | st.booleans() | NUMBERS | WORDS | st.text(max_size=8)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=6)
LIKELY = st.fixed_dictionaries({"text": WORDS | st.lists(WORDS), "target_lang": st.sampled_from(["DE", "EN-GB"])})
PATHS = st.sampled_from(
    [
        "/v2/translate", "/v2/languages", "/v2/usage", "/v2/document", "/v2/document/x", "/v2/document/x/result",
        "/v2/glossaries", "/v2/glossaries/x", "/v2/glossaries/x/entries", "/v2/glossary-language-pairs",
        "/v3/glossaries", "/v3/glossaries/x", "/v3/glossaries/x/dictionaries", "/v3/glossaries/x/entries", "/v2/x",
    ]
)  # fmt: skip
METHODS = st.sampled_from(["GET", "POST", "POST", "PUT", "PATCH", "DELETE"])


@pytest.fixture(scope="module")
def connection(stubbed: TestServer) -> Iterator[httpx.Client]:
    with stubbed.client() as client:
        yield client


def check(response: httpx.Response) -> None:
    assert response.status_code < 500, response.text
    if response.status_code >= 400:
        assert isinstance(response.json()["message"], str)


@settings(max_examples=150, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(METHODS, PATHS, FIELDS, st.sampled_from(["json", "data", "params", "files"]))
def test_any_request(connection: httpx.Client, method: str, path: str, fields: dict[str, object], how: str) -> None:
    if how == "json":
        response = connection.request(method, path, json=fields)
    elif how == "files":
        parts = {name: (None, str(value)) for name, value in fields.items()}
        response = connection.request(method, path, files=parts or {"x": (None, "")})
    else:
        plain = {name: str(value) for name, value in fields.items()}
        response = connection.request(method, path, **{how: plain})  # type: ignore[arg-type]
    check(response)


@settings(max_examples=150, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(LIKELY, FIELDS)
def test_nearly_valid_translations(
    connection: httpx.Client, likely: dict[str, object], fields: dict[str, object]
) -> None:
    check(connection.post("/v2/translate", json={**fields, **likely}))
