"""The native API over HTTP, with the models that come with hark."""

import json
from typing import Any

import httpx
import pytest

from tests.serve.conftest import StartServer, TestServer
from tests.serve.stubs import service, shout
from tests.translate.stub import Stub

TEXT = "The train leaves at 5 pm. Where is the station?"
SEVEN = ("de", "en", "es", "fr", "it", "nl", "pt")


def translate(server: TestServer, **given: Any) -> Any:
    response = server.post("/api/v1/translate", json={"target": "de", **given})
    assert response.status_code == 200, response.text
    return response.json()["translations"]


def test_one_text(server: TestServer) -> None:
    (done,) = translate(server, text=TEXT, source="en")
    assert (done["source"], done["target"], done["model"]) == ("en", "de", "seven")
    assert "Bahnhof" in done["text"]
    assert done["flags"] == []
    assert done["warnings"] == []
    assert done["alternatives"] == []
    assert -3 < done["score"] < 0
    assert len(done["sentences"]) == 2
    for each in done["sentences"]:
        assert TEXT[each["source_start"] :].startswith(each["source"])
        assert done["text"][each["start"] :].startswith(each["text"])
        assert each["links"] == []


def test_several_texts_keep_their_order(server: TestServer) -> None:
    texts = ["One dog.", "", "Two cats.\n\nThree birds.", "   "]
    done = translate(server, text=texts, source="en")
    assert len(done) == 4
    assert done[1]["text"] == ""
    assert done[2]["text"].count("\n\n") == 1
    assert done[3]["text"] == "   "


def test_alternatives_and_links(server: TestServer) -> None:
    (done,) = translate(server, text="Where is the station?", source="en", nbest=3, align=True)
    assert len(done["alternatives"]) >= 1
    assert all(each["score"] <= done["score"] for each in done["alternatives"])
    (sentence,) = done["sentences"]
    words = {}
    for (start, end), (start_of, end_of), weight in sentence["links"]:
        words[sentence["text"][start_of:end_of]] = sentence["source"][start:end]
        assert 0 < weight <= 1
    assert words["Bahnhof?"] == "station?"


def test_the_source_is_detected(server: TestServer) -> None:
    (done,) = translate(server, text="Wo ist der Bahnhof, bitte?", target="en", source=None)
    assert (done["source"], done["model"]) == ("de", "seven")
    assert "station" in done["text"]


@pytest.mark.parametrize(
    ("text", "target", "source", "name"),
    [
        ("Danke", "de", "de", "already German"),
        ("Hello", "en", "en", "already English"),
        ("Dziękuję", "de", "pl", "Polish"),
        ("Teşekkürler", "en", "tr", "Turkish"),
    ],
)
def test_what_cannot_be_translated_says_so(server: TestServer, text: str, target: str, source: str, name: str) -> None:
    (done,) = translate(server, text=text, target=target, source=None)
    assert (done["text"], done["source"], done["flags"]) == (text, source, ["copied", "language"])
    assert done["warnings"] == [f"not translated: not in the source language ({name})"]
    detected = server.post("/api/v1/detect", json={"text": text}).json()["detections"][0][0]
    assert detected["language"] == source


def test_the_user_knows_the_source_better(server: TestServer) -> None:
    (done,) = translate(server, text="Danke", target="de", source="en")
    assert done["source"] == "en"
    assert "language" not in done["flags"]
    polish = "Dziękuję za pomoc, spotkamy się jutro na dworcu."
    (kept,) = translate(server, text=polish, target="de", source="en")
    assert (kept["text"], kept["warnings"]) == (polish, ["not translated: not in the source language (Polish)"])


def read_events(response: httpx.Response) -> list[tuple[str, Any]]:
    blocks = response.read().decode().split("\n\n")
    pairs = [block.split("\n") for block in blocks if block]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in pairs]


@pytest.mark.parametrize("way", ["field", "header"])
def test_sentences_come_as_events(server: TestServer, way: str) -> None:
    body: dict[str, Any] = {"text": [TEXT, "Hello."], "source": "en", "target": "de"}
    headers = {}
    if way == "field":
        body["stream"] = True
    else:
        headers["accept"] = "text/event-stream"
    with server.client() as client, client.stream("POST", "/api/v1/translate", json=body, headers=headers) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        found = read_events(response)
    assert found[-1] == ("done", {})
    whole = {data["index"]: data for name, data in found if name == "text"}
    assert sorted(whole) == [0, 1]
    sentences = [data for name, data in found if name == "sentence"]
    assert {(each["index"], each["sentence"], each["of"]) for each in sentences} == {(0, 0, 2), (0, 1, 2), (1, 0, 1)}
    for each in sentences:
        final = whole[each["index"]]["sentences"][each["sentence"]]
        assert (each["source"], each["text"]) == (final["source"], final["text"])
        assert each["start"] is None


def test_an_invalid_stream_is_refused_with_a_status(server: TestServer) -> None:
    body = {"text": "Hello", "target": "xx", "stream": True}
    response = server.post("/api/v1/translate", json=body)
    assert response.status_code == 400
    assert response.json() == {"error": {"message": "xx is not supported", "status": 400}}


def test_models_languages_and_detection(server: TestServer) -> None:
    models = server.get("/api/v1/models").json()["models"]
    assert [(each["name"], each["loaded"]) for each in models] == [("seven", True)]
    listed = server.get("/api/v1/languages").json()["languages"]
    assert [each["code"] for each in listed] == [*SEVEN]
    for each in listed:
        assert each["targets"] == [code for code in SEVEN if code != each["code"]]
        assert {*each["formality"]} <= {*each["targets"]} - {"en"}
    found = server.post("/api/v1/detect", json={"text": ["Wo ist der Bahnhof?", ""]}).json()["detections"]
    assert found[0][0]["language"] == "de"
    assert found[0][0]["confidence"] > 0.5
    assert found[1] == []


@pytest.mark.parametrize(
    ("text", "target", "source"),
    [
        ("It costs 25 euros.", "de", "en"),
        ("Es kostet 25 Euro.", "en", "de"),
        ("Montag", "en", "de"),
        ("Das Haus ist alt.", "de", "de"),  # it is kept as it is
        ("Bonjour !", "de", "fr"),
        ("Me quedé quieto.", "en", "es"),
        ("It costs 25 euros.", "fr", "en"),
    ],
)
def test_the_language_of_a_short_text(server: TestServer, text: str, target: str, source: str) -> None:
    response = server.post("/api/v1/translate", json={"text": text, "target": target})
    (found,) = response.json()["translations"]
    assert (found["source"], found["target"]) == (source, target)
    assert (found["text"] == text) == (source == target)


def test_a_doubtful_detection_is_checked_by_a_model(server: TestServer) -> None:
    texts = ["It costs 25 euros.", "Liebe Sabine,", "Ne ha due.", "Où est la gare ?"]
    found = server.post("/api/v1/detect", json={"text": texts}).json()["detections"]
    assert [each[0]["language"] for each in found] == ["en", "de", "it", "fr"]
    for each in found:
        shares = [language["confidence"] for language in each]
        assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"target": "de"}, "text is missing"),
        ({"text": "a"}, "target is missing"),
        ({"text": None, "target": "de"}, "text is missing"),
        ({"text": 7, "target": "de"}, "text must be a string or a list of strings"),
        ({"text": ["a", 7], "target": "de"}, "text must be a string or a list of strings"),
        ({"text": [["a"]], "target": "de"}, "text must be a string or a list of strings"),
        ({"text": "a", "target": ["de"]}, "target must be a string"),
        ({"text": "a", "target": "de", "nbest": "many"}, "nbest must be a whole number"),
        ({"text": "a", "target": "de", "nbest": 0}, "nbest must be 1 to 10, not 0"),
        ({"text": "a", "target": "de", "align": "maybe"}, "align must be true or false"),
        ({"text": "a\0b", "target": "de"}, "text contains a NUL character"),
        ({"text": "a", "target": "de", "source": "de"}, "de to de is not supported"),
    ],
)
def test_wrong_fields_are_a_400_that_says_what_is_wrong(server: TestServer, body: Any, message: str) -> None:
    response = server.post("/api/v1/translate", json=body)
    assert response.status_code == 400
    assert response.json()["error"] == {"message": message, "status": 400}


def test_an_error_in_a_stream_is_an_event(start_server: StartServer) -> None:
    from tests.translate.stub import Stub

    class Fails(Stub):
        def step(self):  # type: ignore[no-untyped-def]
            raise RuntimeError("secret")

    server = start_server(service(engine=lambda _: Fails()))
    body = {"text": "the cat", "source": "en", "target": "de", "stream": True}
    with server.client() as client, client.stream("POST", "/api/v1/translate", json=body) as response:
        ((name, data),) = read_events(response)
    assert name == "error"
    assert "secret" not in data["error"]


def test_bulk_requests_come_after_others(start_server: StartServer) -> None:
    engines: list[Stub] = []

    def engine(_: str) -> Stub:
        engines.append(Stub(shout))
        return engines[-1]

    server = start_server(service(engine=engine))
    for bulk in (True, False):
        translate(server, text="the cat" if bulk else "the house", source="en", bulk=bulk)
    assert [each.urgent for each in engines[0].requests] == [False, True]
    assert server.post("/api/v1/translate", json={"text": "x", "target": "de", "bulk": "yes"}).status_code == 400
