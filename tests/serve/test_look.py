"""Looking inside over HTTP: what the page of `hark look` shows."""

import base64
import zlib

import pytest

from tests.serve.conftest import TestServer


def test_the_attention_of_a_sentence(server: TestServer) -> None:
    response = server.post("/api/v1/look", json={"text": "Where is the station?", "source": "en", "target": "de"})
    assert response.status_code == 200, response.text
    found = response.json()
    head = found["head"]
    assert head["sentence"] == "Where is the station?"
    assert head["effects"] is None
    blocks = base64.b64decode(found["blocks"])
    block = head["blocks"]["weights/cross/0"]
    heads, rows, columns = block["shape"]
    unpacked = zlib.decompress(blocks[block["at"] : block["at"] + block["bytes"]], -zlib.MAX_WBITS)
    assert len(unpacked) == heads * rows * columns * 2
    assert (rows, columns) == (len(head["written"]["tokens"]), len(head["source"]["tokens"]))


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"text": " ", "target": "de"}, 400),
        ({"text": "x" * 1001, "target": "de"}, 413),
        ({"text": "Hello.", "target": "xx"}, 400),
        ({"text": "Hello.", "target": "de", "changes": 99}, 400),
        ({"text": "12 34", "target": "de", "source": "en"}, 400),
    ],
)
def test_what_cannot_be_shown_is_refused(server: TestServer, body: dict[str, object], status: int) -> None:
    assert server.post("/api/v1/look", json=body).status_code == status


def test_without_torch_the_answer_says_what_to_install(server: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hark.errors.find_spec", lambda name: None if name == "torch" else object())
    response = server.post("/api/v1/look", json={"text": "Hello.", "target": "de"})
    assert response.status_code == 501
    assert "[train]" in response.json()["error"]["message"]
