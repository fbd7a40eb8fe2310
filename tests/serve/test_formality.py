"""Formal and informal address in all APIs, with models that can choose and models that cannot."""

from pathlib import Path
from typing import Any

import deepl
import httpx
import pytest

from hark.serve.service import Service
from tests.serve.conftest import StartServer, TestServer
from tests.serve.stubs import formal_service, service

YOU = "You see the house."
LETTER = ["Hey, can you see the house?", "It is old.", "You can run to the tree."]


@pytest.fixture
def made(tmp_path: Path) -> tuple[Service, list[str]]:
    return formal_service(tmp_path)


@pytest.fixture
def asked(made: tuple[Service, list[str]]) -> list[str]:
    """What the models are asked."""
    return made[1]


@pytest.fixture
def able(made: tuple[Service, list[str]], start_server: StartServer) -> TestServer:
    return start_server(made[0])


def native(server: TestServer, **given: Any) -> httpx.Response:
    return server.post("/api/v1/translate", json={"source": "en", "target": "de", **given})


class TestNative:
    def test_the_form_is_asked_for_and_named(self, able: TestServer, asked: list[str]) -> None:
        for form in ("formal", "informal"):
            (done,) = native(able, text=YOU, formality=form).json()["translations"]
            assert (done["text"], done["formality"]) == (YOU, form)
            assert asked.pop() == f"<{form}> {YOU}"
        (done,) = native(able, text=YOU).json()["translations"]
        assert (done["formality"], asked.pop()) == (None, YOU)

    def test_texts_that_belong_together_have_one_form(self, able: TestServer, asked: list[str]) -> None:
        done = native(able, text=LETTER).json()["translations"]
        assert [each["formality"] for each in done] == [None, None, None]
        done = native(able, text=LETTER, context="\n".join(LETTER)).json()["translations"]
        assert [each["formality"] for each in done] == ["informal", "informal", "informal"]
        assert {f"<informal> {LETTER[0]}", f"<informal> {LETTER[2]}"} <= {*asked[3:]}
        found = [YOU, "Can you run?"]
        done = native(able, text=found, context="\n".join(found), source=None).json()["translations"]
        assert [each["formality"] for each in done] == ["formal", "formal"]

    def test_languages(self, able: TestServer) -> None:
        listed = {each["code"]: each["formality"] for each in able.get("/api/v1/languages").json()["languages"]}
        assert listed["en"] == ["de"]
        assert listed["de"] == []

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"formality": "polite"}, "formality must be auto, formal or informal"),
            ({"formality": 1}, "formality must be a string"),
            ({"formality": "formal", "source": "de", "target": "en"}, "formality formal is not possible in en"),
        ],
    )
    def test_refusals(self, able: TestServer, given: dict[str, Any], message: str) -> None:
        answer = native(able, text=YOU, **given)
        assert answer.status_code == 400
        assert message in answer.json()["error"]["message"]

    def test_models_that_cannot_choose(self, start_server: StartServer) -> None:
        server = start_server(service("en-de"))
        assert native(server, text=LETTER, context="\n".join(LETTER), formality="auto").status_code == 200
        answer = native(server, text=YOU, formality="formal")
        assert "formality formal is not possible in de, or with these models" in answer.text

    def test_a_model_that_can_choose_is_used_only_if_a_form_is_required(
        self, tmp_path: Path, start_server: StartServer
    ) -> None:
        server = start_server(formal_service(tmp_path, "en-de")[0])
        whole = {"context": "\n".join(LETTER)}
        for given, name in (({}, "en-de"), (whole, "en-de"), ({"formality": "formal"}, "formal-en-de")):
            assert {each["model"] for each in native(server, text=LETTER, **given).json()["translations"]} == {name}


class TestDeepL:
    @pytest.mark.parametrize(
        ("formality", "form"), [("more", "formal"), ("prefer_more", "formal"), ("less", "informal"), ("default", None)]
    )
    def test_each_value(self, able: TestServer, asked: list[str], formality: str, form: str | None) -> None:
        client = deepl.DeepLClient("any-key", server_url=able.url)
        done = client.translate_text(YOU, source_lang="EN", target_lang="DE", formality=formality)
        assert isinstance(done, deepl.TextResult)
        assert done.text == YOU
        assert asked == [f"<{form}> {YOU}" if form else YOU]

    def test_languages(self, able: TestServer) -> None:
        client = deepl.DeepLClient("any-key", server_url=able.url)
        found = {each.code: each.supports_formality for each in client.get_target_languages()}
        assert found == {"DE": True, "EN-GB": False, "EN-US": False}

    def test_what_models_cannot_do(self, start_server: StartServer) -> None:
        client = deepl.DeepLClient("any-key", server_url=start_server(service("en-de")).url)
        assert client.get_target_languages()[0].supports_formality is False
        client.translate_text(YOU, source_lang="EN", target_lang="DE", formality="prefer_less")
        with pytest.raises(deepl.DeepLException, match="Target language DE does not support formality less"):
            client.translate_text(YOU, source_lang="EN", target_lang="DE", formality="less")

    def test_documents_and_markup_have_one_form(self, able: TestServer, asked: list[str], tmp_path: Path) -> None:
        client = deepl.DeepLClient("any-key", server_url=able.url)
        html = "".join(f"<p>{each}</p>" for each in LETTER)
        client.translate_text(html, source_lang="EN", target_lang="DE", tag_handling="html")
        assert sorted(asked) == sorted([f"<informal> {LETTER[0]}", LETTER[1], f"<informal> {LETTER[2]}"])
        for formality, form in (("default", "informal"), ("more", "formal")):
            asked.clear()
            (tmp_path / "a.html").write_text(html.replace("tree", "old tree"))
            done = tmp_path / f"{formality}.html"
            client.translate_document_from_filepath(
                tmp_path / "a.html", done, source_lang="EN", target_lang="DE", formality=formality
            )
            assert f"<{form}> You can run to the old tree." in asked
            assert "You can run to the old tree." in done.read_text()


class TestLibreTranslate:
    def test_text_and_files(self, able: TestServer, asked: list[str]) -> None:
        form = {"source": "en", "target": "de", "formality": "informal"}
        assert able.post("/translate", json={**form, "q": YOU}).json()["translatedText"] == YOU
        assert asked.pop() == f"<informal> {YOU}"
        able.post("/translate_file", data=form, files={"file": ("a.txt", b"You are old.")}).raise_for_status()
        assert asked.pop() == "<informal> You are old."
        assert able.post("/translate", json={**form, "formality": "rude", "q": YOU}).status_code == 400
