"""LibreTranslate's API, driven by the real client package and by plain requests."""

import json
from urllib.error import HTTPError

import httpx
import pytest
from libretranslatepy import LibreTranslateAPI  # type: ignore[import-untyped]

from hark.documents.formats import FORMATS
from hark.serve.admission import add_key
from tests.serve.conftest import StartServer, TestServer, read_all
from tests.serve.stubs import service

EN = "The red house is very old."
DE = "Das rote Haus ist sehr alt."
EN_DE = {"source": "en", "target": "de"}


def test_the_real_client(server: TestServer) -> None:
    client = LibreTranslateAPI(server.url)
    assert client.translate(EN, "en", "de") == DE
    assert client.translate(DE, "auto", "en") == EN
    assert client.detect(DE)[0]["language"] == "de"
    assert client.detect(DE)[0]["confidence"] > 50
    names = {
        "de": "German", "en": "English", "es": "Spanish", "fr": "French", "it": "Italian", "nl": "Dutch",
        "pt": "Portuguese",
    }  # fmt: skip
    assert client.languages() == [{"code": code, "name": name, "targets": [*names]} for code, name in names.items()]
    assert client.translate(EN, "en", "fr") == "La maison rouge est très vieille."


def upload(server: TestServer, name: str, content: bytes, source: str = "en", target: str = "de") -> httpx.Response:
    return server.post("/translate_file", data={"source": source, "target": target}, files={"file": (name, content)})


def download(server: TestServer, answer: httpx.Response) -> httpx.Response:
    return server.get(answer.json()["translatedFileUrl"].removeprefix(server.url))


@pytest.mark.parametrize("how", ["json", "data", "files", "params"])
def test_every_kind_of_request(server: TestServer, how: str) -> None:
    fields = {"q": EN, **EN_DE}
    sent = {name: (None, value) for name, value in fields.items()} if how == "files" else fields
    answer = server.post("/translate", **{how: sent})
    assert (answer.status_code, answer.json()["translatedText"]) == (200, DE)


def test_lists_and_detection(server: TestServer) -> None:
    options = {"q": [EN, DE], "source": "auto", "target": "de"}
    answer = server.post("/translate", json=options).json()
    assert answer["translatedText"] == [DE, DE]  # the second one is in German already
    assert [each["language"] for each in answer["detectedLanguage"]] == ["en", "de"]
    assert all(0 < each["confidence"] <= 100 for each in answer["detectedLanguage"])
    one = server.post("/translate", json={"q": [EN], **EN_DE}).json()
    assert one["translatedText"] == [DE]
    form = server.post("/translate", data={"q": [EN, "House"], **EN_DE}).json()
    assert form["translatedText"] == [DE, "Haus"]


def test_warnings_and_confidence(server: TestServer) -> None:
    """Fields that only hark sends; the client ignores them."""
    doubtful = "Blorp the wuzzle grinks until snarfed fribbles zonk."  # no model knows these words
    assert LibreTranslateAPI(server.url).translate(doubtful, "en", "de")
    options = {"q": doubtful, **EN_DE}
    one = server.post("/translate", json=options).json()
    assert one["warnings"][0].startswith("low confidence (")
    several = server.post("/translate", json={**options, "q": [EN, doubtful, "12345"]}).json()
    assert several["warnings"] == [[], one["warnings"], []]
    sure, unsure, copied = several["confidence"]
    assert (unsure, copied) == (one["confidence"], None)
    assert unsure < sure <= 1


def test_alternatives(server: TestServer) -> None:
    options = {"q": "I am tired.", **EN_DE, "alternatives": 3}
    answer = server.post("/translate", json=options).json()
    assert 1 <= len(answer["alternatives"]) <= 3
    assert answer["translatedText"] not in answer["alternatives"]
    assert len(set(answer["alternatives"])) == len(answer["alternatives"])
    several = server.post("/translate", json={**options, "q": ["I am tired.", "Yes."]}).json()
    assert several["alternatives"][0] == answer["alternatives"]
    assert len(several["alternatives"]) == 2


def test_html(server: TestServer) -> None:
    page = (
        '<p class="a">The <b>red house</b> is very old.</p><script>var x = "old";</script>'
        '<ul><li>Cancel<li translate="no">Save</ul>&lt;script&gt;'
    )
    answer = server.post("/translate", json={"q": page, **EN_DE, "format": "html"}).json()
    assert answer["translatedText"] == (
        '<p class="a">Das <b>rote Haus</b> ist sehr alt.</p><script>var x = "old";</script>'
        '<ul><li>Abbrechen<li translate="no">Save</ul>&lt;script&gt;'
    )
    auto = server.post("/translate", json={"q": f"<i>{DE}</i>", "source": "auto", "target": "en", "format": "html"})
    assert auto.json()["translatedText"] == f"<i>{EN}</i>"
    assert auto.json()["detectedLanguage"]["language"] == "de"
    assert auto.json()["detectedLanguage"]["confidence"] > 50
    empty = server.post("/translate", json={"q": "<br>", "source": "auto", "target": "en", "format": "html"}).json()
    assert empty["translatedText"] == "<br>"


KEPT = [
    ("Danke", "de", "de"),
    ("Hello", "en", "en"),
    ("Dziękuję", "en", "pl"),
    ("Dziękuję za pomoc, spotkamy się jutro na dworcu.", "de", "pl"),
    ("ありがとう", "en", "ja"),
    ("Tack", "de", "sv"),
    ("Mange tak", "en", "da"),
    ("Teşekkürler", "de", "tr"),
]
"""Texts, a target, and their language, which is the target or one that no model knows."""


@pytest.mark.parametrize(("text", "target", "language"), KEPT)
def test_what_cannot_be_translated_comes_back_unchanged(
    server: TestServer, text: str, target: str, language: str
) -> None:
    for options in ({"q": text}, {"q": f"<p>{text}</p>", "format": "html"}):
        answer = server.post("/translate", json={**options, "source": "auto", "target": target}).json()
        assert answer["translatedText"] == options["q"]
        assert answer["detectedLanguage"]["language"] == language
        assert answer["detectedLanguage"]["confidence"] > 40
    found = server.post("/detect", json={"q": text}).json()
    assert found[0]["language"] == language
    assert found[0]["confidence"] > 40


def test_the_same_language_is_returned_as_it_is(server: TestServer) -> None:
    answer = server.post("/translate", json={"q": "Teh red  hous", "source": "en", "target": "en"})
    assert answer.json() == {"translatedText": "Teh red  hous", "warnings": [], "confidence": None}


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({**EN_DE}, 400, "Invalid request: missing q parameter"),
        ({"q": "", **EN_DE}, 400, "Invalid request: missing q parameter"),
        ({"q": [], **EN_DE}, 400, "Invalid request: missing q parameter"),
        ({"q": "a", "target": "de"}, 400, "Invalid request: missing source parameter"),
        ({"q": "a", "source": "en"}, 400, "Invalid request: missing target parameter"),
        ({"q": "a", "source": "en", "target": "xx"}, 400, "xx is not supported"),
        ({"q": "a", "source": "xx", "target": "de"}, 400, "xx is not supported"),
        ({"q": "a", "source": "xx", "target": "xx"}, 400, "xx is not supported"),
        ({"q": "a", **EN_DE, "format": "pdf"}, 400, "pdf format is not supported"),
        ({"q": "a", "source": "xx", "target": "de", "format": "html"}, 400, "xx is not supported"),
        ({"q": 1, **EN_DE}, 400, "q must be a string"),
        ({"q": {"a": "b"}, **EN_DE}, 400, "q must be a string"),
        ({"q": ["a", 1], **EN_DE}, 400, "q must be a string"),
        ({"q": [["a"]], **EN_DE}, 400, "q must be a string"),
        ({"q": "a", "source": ["en"], "target": "de"}, 400, "source must be a string"),
        ({"q": "a", **EN_DE, "alternatives": "many"}, 400, "alternatives must be a whole"),
        ({"q": "a\0b", **EN_DE}, 400, "NUL"),
        ({"q": "a", "source": "en", "target": "de\0"}, 400, "NUL"),
        ({"q": "a", **EN_DE, "api_key": ["x"]}, 400, "api_key must be a string"),
        ({"q": "a" * 50_001, **EN_DE}, 400, "exceeds text limit (50000)"),
        ({"q": ["a"] * 501, **EN_DE}, 400, "exceeds batch limit (500)"),
    ],
)
def test_bad_requests(server: TestServer, fields: dict[str, object], status: int, words: str) -> None:
    answer = server.post("/translate", content=json.dumps(fields), headers={"content-type": "application/json"})
    assert answer.status_code == status
    assert list(answer.json()) == ["error"]
    assert words in answer.json()["error"]


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"null",
        b'"q"',
        b'{"q": "\xff", **EN_DE}',
        b'{"q": "\\ud800", **EN_DE}',
        b'{"q": NaN}',
        b'{"q": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"\x00\x01\x02",
    ],
)
def test_bodies_that_are_not_requests(server: TestServer, body: bytes) -> None:
    answer = server.post("/translate", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert isinstance(answer.json()["error"], str)
    assert server.post("/translate", json={"q": "House", **EN_DE}).status_code == 200


def test_a_form_that_is_not_utf_8(server: TestServer) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    answer = server.post("/translate", content=b"q=%ff%fe&source=en&target=de", headers=headers)
    assert answer.status_code in (200, 400)  # as text with replacement characters, or refused
    assert server.post("/translate", content=b"\xff\xfe=\x00", headers=headers).status_code == 400


def test_a_body_that_is_too_large(server: TestServer) -> None:
    answer = server.post("/translate", json={"q": "a" * 11_000_000, **EN_DE})
    assert answer.status_code == 413
    assert "too large" in answer.json()["error"]


@pytest.mark.parametrize("path", ["/translate", "/detect", "/translate_file"])
def test_other_methods(server: TestServer, path: str) -> None:
    answer = server.get(path)
    assert answer.status_code == 405
    assert isinstance(answer.json()["error"], str)


def test_detect(server: TestServer) -> None:
    assert server.post("/detect", data={"q": EN}).json()[0]["language"] == "en"
    assert server.post("/detect", json={"q": "12345 !!!"}).json()[0]["language"] in ("de", "en")
    assert server.post("/detect", json={}).json() == {"error": "Invalid request: missing q parameter"}


def test_settings_and_description(server: TestServer) -> None:
    found = server.get("/frontend/settings").json()
    assert (found["charLimit"], found["keyRequired"], found["apiKeys"]) == (50_000, False, False)
    assert found["supportedFilesFormat"] == list(FORMATS)
    spec = server.get("/spec").json()
    assert {"/translate", "/detect", "/languages", "/translate_file"} <= set(spec["paths"])
    assert server.get("/health").json() == {"status": "ok"}
    assert server.post("/suggest", json={"q": "a"}).status_code == 403


def test_a_form_with_get(server: TestServer) -> None:
    with server.client() as client:
        answer = client.request("GET", "/languages", data={"api_key": "x"})
    assert answer.status_code == 200


class TestFiles:
    def test_a_file_is_delivered_once(self, server: TestServer) -> None:
        answer = upload(server, "letter.txt", EN.encode())
        url = answer.json()["translatedFileUrl"]
        assert url.startswith(f"{server.url}/download_file/")
        path = url.removeprefix(server.url)
        with server.client() as client:
            assert client.head(path).status_code == 200
        found = server.get(path)
        assert found.text == DE
        assert "letter_de.txt" in found.headers["content-disposition"]
        assert found.headers["content-disposition"].startswith("attachment")
        assert server.get(path).status_code == 404

    @pytest.mark.parametrize(
        "name",
        ["../../etc/passwd.txt", "/etc/x.txt", "..\\..\\x.md", "a\r\nSet-Cookie: x.txt", "ä ö.txt", "a" * 500 + ".txt"],
    )
    def test_names_are_never_paths(self, server: TestServer, name: str) -> None:
        answer = upload(server, name, b"House")
        assert answer.status_code == 200
        assert ".." not in answer.json()["translatedFileUrl"]
        found = download(server, answer)
        assert found.text == "Haus"
        assert "set-cookie" not in found.headers
        assert "/" not in found.headers["content-disposition"]

    @pytest.mark.parametrize(
        "path", ["/download_file/../../etc/passwd", "/download_file/..%2f..%2fetc%2fpasswd", "/download_file/x"]
    )
    def test_only_stored_files_can_be_downloaded(self, server: TestServer, path: str) -> None:
        with server.connect() as connection:  # no client tidies the path
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            assert read_all(connection).split()[1] == b"404"

    @pytest.mark.parametrize(
        ("name", "content", "words"),
        [
            ("a.exe", b"House", "the file extension .exe is not supported"),
            ("a", b"House", "not supported"),
            ("", b"House", ""),
            ("a.txt", b"\xff\xfe\xff", "a.txt: the file is not valid UTF-16"),
            ("a.txt", b"a\x00b", "not text"),
            ("a.docx", b"PK", "a.docx: not a valid DOCX file"),
        ],
    )
    def test_files_that_are_not_text(self, server: TestServer, name: str, content: bytes, words: str) -> None:
        answer = upload(server, name, content)
        assert answer.status_code == 400
        assert words in answer.json()["error"]

    def test_missing_and_wrong_fields(self, server: TestServer) -> None:
        missing = server.post("/translate_file", data=EN_DE)
        assert missing.json() == {"error": "Invalid request: missing file parameter"}
        text = server.post("/translate_file", data={**EN_DE, "file": "x"})
        assert text.status_code == 400
        missing = server.post("/translate_file", data={"source": "en"}, files={"file": ("a.txt", b"House")})
        assert missing.json() == {"error": "Invalid request: missing target parameter"}
        assert upload(server, "a.txt", b"House", target="xx").json() == {"error": "xx is not supported"}

    def test_a_document_keeps_its_markup(self, server: TestServer) -> None:
        page = "<h1>The <b>house</b></h1><p>Cancel</p>"
        content = download(server, upload(server, "a.html", page.encode(), source="auto")).text
        assert content == "<h1>Das <b>Haus</b></h1><p>Abbrechen</p>"

    def test_encodings_are_kept(self, server: TestServer) -> None:
        for encoding in ("utf-8-sig", "utf-16"):
            text = "Schönes Haus\r\n\r\nTür\r\n".encode(encoding)
            content = download(server, upload(server, "a.txt", text, "de", "en")).content
            assert content.startswith("x".encode(encoding)[:2])
            assert content.decode(encoding).endswith("\r\n\r\ndoor\r\n")


def test_keys(start_server: StartServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    keys = tmp_path_factory.mktemp("keys") / "keys"
    key = add_key(keys, "me")
    server = start_server(service("en-de", api_keys=keys))
    options = {"q": "house", **EN_DE}
    assert server.post("/translate", json={**options, "api_key": key}).json()["translatedText"] == "HOUSE"
    assert server.post("/translate", data={**options, "api_key": key}).status_code == 200
    assert server.post("/translate", json=options, headers={"authorization": f"Bearer {key}"}).status_code == 200
    wrong = server.post("/translate", json={**options, "api_key": "wrong"})
    assert (wrong.status_code, wrong.json()) == (403, {"error": "Invalid API key"})
    assert server.post("/translate", json=options).status_code == 403
    assert server.post("/detect", json={"q": "house"}).status_code == 403
    assert server.get("/languages").status_code == 200  # public, as in LibreTranslate
    assert server.get("/frontend/settings").json()["keyRequired"] is True
    assert LibreTranslateAPI(server.url, key).translate("house", "en", "de") == "HOUSE"
    with pytest.raises(HTTPError, match="403"):
        LibreTranslateAPI(server.url, "wrong").translate("house", "en", "de")


def test_too_many_requests(start_server: StartServer) -> None:
    server = start_server(service("en-de", requests_per_minute=2))
    options = {"q": "house", **EN_DE}
    answers = [server.post("/translate", json=options) for _ in range(4)]
    assert {each.status_code for each in answers} == {200, 429}
    refused = next(each for each in answers if each.status_code == 429)
    assert refused.json()["error"].startswith("Slowdown:")
    assert int(refused.headers["retry-after"]) > 0


def test_a_file_behind_a_proxy(start_server: StartServer) -> None:
    server = start_server(service("en-de", root_path="/translator", allowed_hosts=("example.org",)))
    answer = server.post(
        "/translate_file",  # the proxy removes the path
        data=EN_DE,
        files={"file": ("a.txt", b"house")},
        headers={"host": "example.org"},
    )
    url = answer.json()["translatedFileUrl"]
    assert url.startswith("http://example.org/translator/download_file/")
    assert server.get(url.removeprefix("http://example.org/translator")).text == "HOUSE"
