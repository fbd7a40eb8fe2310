"""DeepL's API, driven by the real client package and by plain requests."""

import io
import itertools
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

import deepl
import httpx
import pytest
from deepl.api_data import MultilingualGlossaryDictionaryEntries

from hark.serve.admission import add_key
from tests.serve.conftest import StartServer, TestServer
from tests.serve.stubs import service
from tests.translate.stub import Stub

EN = "The red house is very old."
DE = "Das rote Haus ist sehr alt."
EN_DE: dict[str, Any] = {"source_lang": "EN", "target_lang": "DE"}


@pytest.fixture
def client(server: TestServer) -> deepl.DeepLClient:
    return deepl.DeepLClient("any-key", server_url=server.url)


@pytest.fixture
def gated(start_server: StartServer, tmp_path: Path) -> Iterator[tuple[TestServer, Event, list[str]]]:
    """A server whose engine waits, what it waits for, and the texts that it was asked for."""
    opened, asked = Event(), list[str]()

    def wait(text: str, _: object) -> str:
        asked.append(text)
        opened.wait(120)
        return text.upper()

    made = service("en-de", engine=lambda _: Stub(wait), patience_seconds=0.0, state=tmp_path)
    yield start_server(made), opened, asked
    opened.set()  # before the server stops


def translate(client: deepl.DeepLClient, text: str, **options: Any) -> deepl.TextResult:
    """Translate one text."""
    result = client.translate_text(text, **options)
    assert isinstance(result, deepl.TextResult)
    return result


def post(server: TestServer, path: str, **given: Any) -> httpx.Response:
    return server.post(path, headers={"authorization": "DeepL-Auth-Key any"}, **given)


class TestText:
    def test_one_and_several(self, client: deepl.DeepLClient) -> None:
        one = translate(client, EN, target_lang="DE")
        assert (one.text, one.detected_source_lang, one.billed_characters) == (DE, "EN", len(EN))
        several = client.translate_text([DE, "Haus"], source_lang="DE", target_lang="EN-US")
        assert isinstance(several, list)
        assert [each.text for each in several] == [EN, "house"]
        assert [each.billed_characters for each in several] == [len(DE), 4]

    def test_every_option_of_the_client_is_accepted(self, client: deepl.DeepLClient) -> None:
        result = translate(
            client,
            EN,
            **EN_DE,
            context="A walk through the village.",
            split_sentences=deepl.SplitSentences.ALL,
            preserve_formatting=True,
            formality=deepl.Formality.PREFER_MORE,
            model_type=deepl.ModelType.QUALITY_OPTIMIZED,
            custom_instructions=["Be brief."],
        )
        assert result.text == DE
        assert result.model_type_used == "quality_optimized"

    def test_text_in_the_target_language(self, client: deepl.DeepLClient) -> None:
        """Nextcloud detects languages by translating to English."""
        for page, handling in ((EN, None), (f"<p>{EN}</p>", "html")):
            result = translate(client, page, target_lang="EN-US", tag_handling=handling)
            assert (result.text, result.detected_source_lang) == (page, "EN")

    def test_forms(self, server: TestServer) -> None:
        answer = post(server, "/v2/translate", data={"text": [EN, "House"], "target_lang": "de", "source_lang": "en"})
        assert [each["text"] for each in answer.json()["translations"]] == [DE, "Haus"]
        one = post(server, "/v2/translate", json={"text": EN, "target_lang": "DE"})  # not a list
        assert one.json()["translations"][0]["text"] == DE

    @pytest.mark.parametrize("target", ["EN", "EN-US", "EN-GB", "en-us", "en"])
    def test_regions(self, server: TestServer, target: str) -> None:
        answer = post(server, "/v2/translate", json={"text": [DE], "target_lang": target})
        assert answer.json()["translations"][0]["text"] == EN

    def test_newlines(self, server: TestServer) -> None:
        text = "The red house\nis very old."
        options = {"text": [text], **EN_DE}
        joined = post(server, "/v2/translate", json={**options, "split_sentences": "nonewlines"})
        assert joined.json()["translations"][0]["text"] == DE
        apart = post(server, "/v2/translate", json={**options, "split_sentences": "0"})
        assert "\n" in apart.json()["translations"][0]["text"]

    def test_the_same_language(self, client: deepl.DeepLClient) -> None:
        result = translate(client, "Teh house", source_lang="EN", target_lang="EN-GB")
        assert result.text == "Teh house"

    @pytest.mark.parametrize("formality", ["default", "prefer_more", "PREFER_LESS", None, ""])
    def test_formality_that_models_may_ignore(self, server: TestServer, formality: str | None) -> None:
        options = {"text": "House", **EN_DE, "formality": formality}
        assert post(server, "/v2/translate", json=options).json()["translations"][0]["text"] == "Haus"

    @pytest.mark.parametrize("kind", deepl.ModelType)
    def test_one_model_serves_all_types(self, client: deepl.DeepLClient, kind: deepl.ModelType) -> None:
        result = translate(client, "House", **EN_DE, model_type=kind)
        assert result.model_type_used == str(kind).removeprefix("prefer_")

    def test_warnings_and_confidence(self, server: TestServer, client: deepl.DeepLClient) -> None:
        """Fields that only hark sends; the client ignores them."""
        doubtful = "Blorp the wuzzle grinks until snarfed fribbles zonk."  # no model knows these words
        assert isinstance(client.translate_text(doubtful, target_lang="DE"), deepl.TextResult)
        for handling in ({}, {"tag_handling": "html"}):
            options = {"text": [EN, doubtful, "12345"], **EN_DE, **handling}
            sure, unsure, copied = post(server, "/v2/translate", json=options).json()["translations"]
            assert sure["warnings"] == []
            assert unsure["warnings"][0].startswith("low confidence (")
            assert 0 < unsure["confidence"] < sure["confidence"] <= 1
            assert (copied["warnings"], copied["confidence"]) == ([], None)

    @pytest.mark.parametrize(
        ("fields", "status", "words"),
        [
            ({"target_lang": "DE"}, 400, "text"),
            ({"text": [], "target_lang": "DE"}, 400, "text"),
            ({"text": ["a"]}, 400, "target_lang"),
            ({"text": ["a"], "target_lang": "XX"}, 400, "target_lang XX is not supported"),
            ({"text": ["a"], "target_lang": "DE", "source_lang": "XX"}, 400, "source_lang XX is not supported"),
            ({"text": ["a"], "target_lang": "DE", "formality": "rude"}, 400, "formality must be default, more, less,"),
            ({"text": ["a"], "target_lang": "DE", "formality": 1}, 400, "formality must be a string"),
            ({"text": ["a"], "target_lang": "EN-US", "formality": "More"}, 400, "Target language EN does not support"),
            ({"text": ["a"], "target_lang": "en-gb", "formality": "less"}, 400, "Target language EN does not support"),
            (
                {"text": ["a"], "target_lang": "DE", "model_type": "best"},
                400,
                "model_type must be latency_optimized or",
            ),
            ({"text": ["a"], "target_lang": ["DE"]}, 400, "target_lang must be a string"),
            ({"text": [1], "target_lang": "DE"}, 400, "text must be a string"),
            ({"text": {"a": 1}, "target_lang": "DE"}, 400, "text must be a string"),
            ({"text": ["a\0"], "target_lang": "DE"}, 400, "NUL"),
            ({"text": ["a"], "target_lang": "DE", "tag_handling": "pdf"}, 400, "tag_handling"),
            ({"text": ["a"], "target_lang": "DE", "tag_handling": "xml", "ignore_tags": [1]}, 400, "ignore_tags"),
            ({"text": ["a"], "target_lang": "DE", "split_sentences": "yes"}, 400, "split_sentences"),
            ({"text": ["a"], "target_lang": "DE", "split_sentences": [1]}, 400, "split_sentences"),
            ({"text": ["a"], "target_lang": "DE", "tag_handling": "xml", "outline_detection": "x"}, 400, "outline"),
            ({"text": ["a"], "target_lang": "DE", "glossary_id": "x"}, 400, "source_lang"),
            ({"text": ["a"], "target_lang": "DE", "source_lang": "EN", "glossary_id": "../x"}, 404, "no such glossary"),
            ({"text": ["a"], "target_lang": "DE", "style_id": "x"}, 400, "style_id"),
            ({"text": ["a"], "target_lang": "DE", "translation_memory_id": "x"}, 400, "translation_memory_id"),
            ({"text": ["a" * 50_001], "target_lang": "DE"}, 413, "50,001 characters"),
            ({"text": ["a"] * 501, "target_lang": "DE"}, 413, "501 texts"),
        ],
    )
    def test_bad_requests(self, server: TestServer, fields: dict[str, Any], status: int, words: str) -> None:
        answer = post(server, "/v2/translate", json=fields)
        assert answer.status_code == status
        assert list(answer.json()) == ["message"]
        assert words in answer.json()["message"]

    @pytest.mark.parametrize("body", [b"{", b"[]", b'{"text": "\xff"}', b"[" * 100_000, b"\x00"])
    def test_bodies_that_are_not_requests(self, server: TestServer, body: bytes) -> None:
        for path in ("/v2/translate", "/v2/glossaries", "/v3/glossaries", "/v2/document", "/v2/document/x"):
            answer = server.post(path, content=body, headers={"content-type": "application/json"})
            assert answer.status_code == 400
            assert isinstance(answer.json()["message"], str)

    def test_the_client_explains_refusals(self, client: deepl.DeepLClient) -> None:
        with pytest.raises(deepl.DeepLException, match="XX is not supported"):
            client.translate_text("a", target_lang="XX")
        with pytest.raises(deepl.DeepLException, match="not supported by this server"):
            client.translate_text("a", target_lang="DE", style_rule="x")

    @pytest.mark.parametrize(
        ("text", "target", "language"),
        [
            ("Hello", "EN-GB", "EN"),
            ("Danke", "DE", "DE"),
            ("Dziękuję", "DE", "PL"),
            ("Tack", "EN-US", "SV"),
            ("Mange tak", "DE", "DA"),
            ("Teşekkürler", "DE", "TR"),
            ("ありがとう", "FR", "JA"),
            ("電車は午後五時に三番線から出発します。", "DE", "JA"),
        ],
    )
    def test_what_cannot_be_translated_comes_back_unchanged(
        self, client: deepl.DeepLClient, text: str, target: str, language: str
    ) -> None:
        for given, handling in ((text, None), (f"<p>{text}</p>", "html")):
            result = translate(client, given, target_lang=target, tag_handling=handling)
            assert (result.text, result.detected_source_lang) == (given, language)


class TestMarkup:
    def test_html(self, client: deepl.DeepLClient) -> None:
        page = "<h1>Cancel</h1>\n<p>The <b>red house</b> is\nvery old.</p><code>old</code>"
        result = translate(client, page, **EN_DE, tag_handling="html")
        assert result.text == ("<h1>Abbrechen</h1>\n<p>Das <b>rote Haus</b> ist sehr alt.</p><code>old</code>")
        assert result.detected_source_lang == "EN"

    def test_xml(self, client: deepl.DeepLClient) -> None:
        document = '<d><t>Cancel</t><p>The <i a="&lt;">red</i> house is <x>Save</x>.</p><k>Save</k></d>'
        result = translate(client, document, **EN_DE, tag_handling="xml", ignore_tags=["x", "k"])
        assert result.text.startswith("<d><t>Abbrechen</t><p>")
        assert '<i a="&lt;">rote</i> haus' in result.text.lower()
        assert "<x>Save</x>" in result.text
        assert result.text.endswith(".</p><k>Save</k></d>")

    def test_splitting_tags(self, client: deepl.DeepLClient) -> None:
        text = "Cancel<s>Save</s>"
        split = translate(
            client,
            text,
            **EN_DE,
            tag_handling="xml",
            splitting_tags="s,u",
            outline_detection=False,
        )
        assert split.text == "Abbrechen<s>Speichern</s>"

    def test_weblate_placeholders(self, server: TestServer) -> None:
        """Weblate sends placeholders as empty ignored elements."""
        options = {
            "text": ['The size of <x id="7"></x> must be &lt; 5 MB.'],
            **EN_DE,
            "tag_handling": "xml",
            "ignore_tags": ["x"],
        }
        text = post(server, "/v2/translate", json=options).json()["translations"][0]["text"]
        assert text.count('<x id="7"></x>') == 1
        assert "&lt;" in text
        assert "Größe" in text


class TestInformation:
    def test_languages(self, client: deepl.DeepLClient, server: TestServer) -> None:
        assert [each.code for each in client.get_source_languages()] == ["DE", "EN", "ES", "FR", "IT", "NL", "PT"]
        targets = client.get_target_languages()
        into = ["DE", "EN-GB", "EN-US", "ES", "FR", "IT", "NL", "PT-BR", "PT-PT"]
        assert [each.code for each in targets] == into
        assert targets[1].name == "English (British)"
        assert targets[1].supports_formality is False
        with server.client() as plain:
            assert len(plain.get("/v2/languages", params={"type": "target"}).json()) == len(into)
            assert len(plain.post("/v2/languages", data={"type": "target"}).json()) == len(into)
            assert plain.get("/v2/languages", params={"type": "both"}).status_code == 400

    def test_usage(self, client: deepl.DeepLClient) -> None:
        before = client.get_usage().character
        client.translate_text("House", target_lang="DE")
        after = client.get_usage()
        assert after.character.valid
        assert not after.any_limit_reached
        assert after.character.count - before.count == 5  # type: ignore[operator]

    def test_other_paths(self, server: TestServer) -> None:
        answer = post(server, "/v2/write/rephrase", json={"text": ["a"]})
        assert answer.status_code == 404
        assert answer.json()["message"] == "this server has no POST /v2/write/rephrase"


class TestDocuments:
    def test_the_real_client(self, client: deepl.DeepLClient, tmp_path: Path) -> None:
        source, output = tmp_path / "letter.txt", tmp_path / "out.txt"
        source.write_text(f"{EN}\n\nCancel\n")
        status = client.translate_document_from_filepath(source, output, target_lang="DE")
        assert output.read_text() == f"{DE}\n\nAbbrechen\n"
        assert (status.done, status.billed_characters) == (True, len(EN) + len("Cancel"))

    def test_once(self, client: deepl.DeepLClient) -> None:
        handle = client.translate_document_upload(EN, filename="a.md", **EN_DE)
        assert client.translate_document_get_status(handle).done
        out = io.BytesIO()
        client.translate_document_download(handle, out)
        assert out.getvalue().decode() == DE
        with pytest.raises(deepl.DeepLException, match="no such document"):
            client.translate_document_get_status(handle)

    @pytest.mark.parametrize(("source", "text"), [(None, DE), (None, "Protonenstrahl"), ("DE", "House")])
    def test_a_document_in_the_target_language(
        self, client: deepl.DeepLClient, tmp_path: Path, source: str | None, text: str
    ) -> None:
        """The official client's tests expect an error with the handle, whose ids are in capitals."""
        document = tmp_path / "a.txt"
        document.write_text(text)
        before = client.get_usage().character.count
        with pytest.raises(deepl.DocumentTranslationException, match="Source and target language") as caught:
            client.translate_document_from_filepath(document, tmp_path / "b.txt", source_lang=source, target_lang="DE")
        assert re.search("ID: [0-9A-F]{32}, key: [0-9A-F]{64}", str(caught.value))
        assert client.get_usage().character.count == before

    def test_the_key_of_a_document_is_needed(self, client: deepl.DeepLClient) -> None:
        handle = client.translate_document_upload(EN, filename="a.txt", target_lang="DE")
        for key in ("", "x", "ä", handle.document_key[:-1]):
            with pytest.raises(deepl.DeepLException, match="no such document"):
                client.translate_document_get_status(deepl.DocumentHandle(handle.document_id, key))
        assert client.translate_document_get_status(handle).ok

    @pytest.mark.parametrize("name", ["../../x.txt", "/etc/x.txt", "C:\\x.txt", "a\nb.txt"])
    def test_names_are_never_paths(self, client: deepl.DeepLClient, name: str) -> None:
        handle = client.translate_document_upload("House", filename=name, target_lang="DE")
        assert client.translate_document_get_status(handle).done
        response = client.translate_document_download(handle)
        assert response is not None
        assert response.content == b"Haus"
        assert "/" not in response.headers["content-disposition"]
        assert ".." not in response.headers["content-disposition"]

    @pytest.mark.parametrize(
        ("name", "content", "fields", "words"),
        [
            ("a.exe", b"x", {}, "file extension .exe is not supported"),
            ("a", b"x", {}, "without a file extension is not supported"),
            ("a.txt", b"Haus", {"formality": "more", "target_lang": "EN-GB"}, "Target language EN does not support"),
            ("a.docx", b"x", {}, "a.docx: not a valid DOCX file"),
            ("a.txt", b"a\x00b", {}, "not text"),
            ("a.txt", b"House", {"output_format": "pdf"}, "cannot become pdf"),
            ("a.txt", b"House", {"target_lang": "XX"}, "XX is not supported"),
        ],
    )
    def test_refused_files(
        self, server: TestServer, name: str, content: bytes, fields: dict[str, str], words: str
    ) -> None:
        form = {"target_lang": "DE", **fields}
        answer = post(server, "/v2/document", data=form, files={"file": (name, content)})
        assert answer.status_code == 400
        assert words in answer.json()["message"]

    def test_a_file_is_required(self, server: TestServer) -> None:
        assert post(server, "/v2/document", data={"target_lang": "DE"}).status_code == 400
        assert post(server, "/v2/document", data={"target_lang": "DE", "file": "x"}).status_code == 400

    def test_a_document_that_is_not_done(self, gated: tuple[TestServer, Event, list[str]]) -> None:
        server, gate, _ = gated
        client = deepl.DeepLClient("key", server_url=server.url)
        handle = client.translate_document_upload("the house", filename="a.txt", **EN_DE)
        assert client.translate_document_get_status(handle).status == deepl.DocumentStatus.Status.TRANSLATING
        answer = post(server, f"/v2/document/{handle.document_id}/result", json={"document_key": handle.document_key})
        assert answer.status_code == 503
        gate.set()
        while not client.translate_document_get_status(handle).done:
            pass
        out = io.BytesIO()
        client.translate_document_download(handle, out)
        assert out.getvalue() == b"THE HOUSE"


class TestGlossaries:
    def test_version_2(self, client: deepl.DeepLClient) -> None:
        entries = {"house": "Gebäude", "red house": "Rothaus", "old": "greis"}
        before = datetime.now(UTC)
        made = client.create_glossary("Houses", "EN", "DE", entries)
        assert (made.name, made.source_lang, made.target_lang, made.entry_count) == ("Houses", "EN", "DE", 3)
        assert made.ready
        assert made.creation_time >= before
        assert client.get_glossary(made.glossary_id).name == "Houses"
        assert made.glossary_id in [each.glossary_id for each in client.list_glossaries()]
        assert client.get_glossary_entries(made) == entries
        result = client.translate_text_with_glossary(["The house is old.", "The red house is empty."], made)
        assert isinstance(result, list)
        assert result[0].text == "Das Gebäude ist greis."
        assert "Rothaus" in result[1].text
        client.delete_glossary(made)
        with pytest.raises(deepl.GlossaryNotFoundException):
            client.get_glossary(made.glossary_id)
        with pytest.raises(deepl.DeepLException, match="no such glossary"):
            client.translate_text("House", **EN_DE, glossary=made.glossary_id)

    def test_csv_and_languages(self, client: deepl.DeepLClient) -> None:
        csv = '"house, big",Palast,en,de\r\nold,greis\r\n'
        made = client.create_glossary_from_csv("CSV", "EN", "DE", csv)
        assert client.get_glossary_entries(made) == {"house, big": "Palast", "old": "greis"}
        pairs = {(each.source_lang, each.target_lang) for each in client.get_glossary_languages()}
        assert pairs == set(itertools.permutations(("de", "en", "es", "fr", "it", "nl", "pt"), 2))

    def test_version_3(self, client: deepl.DeepLClient) -> None:
        to_german = MultilingualGlossaryDictionaryEntries("EN", "DE", {"house": "Gebäude"})
        to_english = MultilingualGlossaryDictionaryEntries("DE", "EN", {"Haus": "building"})
        made = client.create_multilingual_glossary("Both", [to_german, to_english])
        assert [(each.source_lang, each.target_lang, each.entry_count) for each in made.dictionaries] == [
            ("EN", "DE", 1),
            ("DE", "EN", 1),
        ]
        german = translate(client, "The house is red.", **EN_DE, glossary=made)
        english = translate(client, "Das Haus ist rot.", source_lang="DE", target_lang="EN-US", glossary=made)
        assert (german.text, english.text) == ("Das Gebäude ist rot.", "The building is red.")
        renamed = client.update_multilingual_glossary_name(made, "Two")
        assert renamed.name == "Two"
        more = MultilingualGlossaryDictionaryEntries("EN", "DE", {"door": "Pforte"})
        grown = client.update_multilingual_glossary_dictionary(made, more)
        assert [each.entry_count for each in grown.dictionaries] == [2, 1]
        found = client.get_multilingual_glossary_entries(made, "EN", "DE").dictionaries[0]
        assert found.entries == "house\tGebäude\ndoor\tPforte"
        replaced = client.replace_multilingual_glossary_dictionary(made, more)
        assert replaced.entry_count == 1
        client.delete_multilingual_glossary_dictionary(made, source_lang="DE", target_lang="EN")
        assert len(client.get_multilingual_glossary(made.glossary_id).dictionaries) == 1
        assert "Two" in [each.name for each in client.list_multilingual_glossaries()]
        with pytest.raises(deepl.DeepLException, match="no dictionary from de to en"):
            client.translate_text("Haus", source_lang="DE", target_lang="EN-US", glossary=made.glossary_id)
        client.delete_multilingual_glossary(made)
        with pytest.raises(deepl.GlossaryNotFoundException):
            client.get_multilingual_glossary(made.glossary_id)

    def test_several_glossaries_in_order(self, client: deepl.DeepLClient) -> None:
        one = client.create_glossary("1", "EN", "DE", {"house": "Gebäude"})
        two = client.create_glossary("2", "EN", "DE", {"House": "Hütte", "old": "greis"})
        result = translate(client, "The house is old.", **EN_DE, glossary_ids=[one, two])
        assert result.text == "Das Gebäude ist greis."

    def test_terms_in_markup_and_documents(self, client: deepl.DeepLClient) -> None:
        made = client.create_glossary("M", "EN", "DE", {"house": "Gebäude"})
        page = "<p>The <b>house</b> is red.</p>"
        text = translate(client, page, **EN_DE, tag_handling="html", glossary=made)
        assert text.text == "<p>Das <b>Gebäude</b> ist rot.</p>"
        handle = client.translate_document_upload("The house is red.", filename="a.txt", **EN_DE, glossary=made)
        assert client.translate_document_get_status(handle).done
        response = client.translate_document_download(handle)
        assert response is not None
        assert response.content.decode() == "Das Gebäude ist rot."

    @pytest.mark.parametrize(
        ("fields", "status"),
        [
            ({"name": ""}, 400),
            ({"name": "x" * 2000}, 400),
            ({"name": ["x"]}, 400),
            ({"source_lang": "XX"}, 400),
            ({"target_lang": None}, 400),
            ({"target_lang": "EN"}, 400),
            ({"entries": ""}, 400),
            ({"entries": "a"}, 400),
            ({"entries": "a\tb\tc"}, 400),
            ({"entries": "a\tb\na\tc"}, 400),
            ({"entries": "\tb"}, 400),
            ({"entries": "a\x07\tb"}, 400),
            ({"entries": "a" * 2000 + "\tb"}, 400),
            ({"entries": '"a', "entries_format": "csv"}, 400),
            ({"entries_format": "xls"}, 400),
            ({"entries": "\n".join(f"{n}\tb" for n in range(100_001))}, 413),
        ],
    )
    def test_bad_glossaries(self, server: TestServer, fields: dict[str, Any], status: int) -> None:
        good = {"name": "x", **EN_DE, "entries": "a\tb", "entries_format": "tsv"}
        answer = post(server, "/v2/glossaries", json={**good, **fields})
        assert answer.status_code == status
        assert isinstance(answer.json()["message"], str)

    @pytest.mark.parametrize("dictionaries", [None, [], {}, [1], "x", [{"source_lang": "EN"}]])
    def test_bad_dictionaries(self, server: TestServer, dictionaries: object) -> None:
        answer = post(server, "/v3/glossaries", json={"name": "x", "dictionaries": dictionaries})
        assert answer.status_code == 400

    @pytest.mark.parametrize("number", ["..%2f..%2fetc%2fpasswd", "x", "%00", "0" * 1000])
    def test_ids_are_never_paths(self, server: TestServer, number: str) -> None:
        for path in (f"/v2/glossaries/{number}", f"/v3/glossaries/{number}", f"/v2/glossaries/{number}/entries"):
            with server.client() as client:
                assert client.get(path).status_code == 404
                assert client.delete(path).status_code in (404, 405)

    def test_glossaries_survive_a_restart(self, start_server: StartServer, tmp_path: Path) -> None:
        first = start_server(service("en-de", state=tmp_path))
        made = deepl.DeepLClient("k", server_url=first.url).create_glossary("G", "EN", "DE", {"a": "b"})
        second = start_server(service("en-de", state=tmp_path))
        client = deepl.DeepLClient("k", server_url=second.url)
        assert client.get_glossary_entries(made.glossary_id) == {"a": "b"}
        assert (tmp_path / "glossaries").stat().st_mode & 0o077 == 0


class TestKeys:
    def test_keys_and_owners(self, start_server: StartServer, tmp_path: Path) -> None:
        keys = tmp_path / "keys"
        mine, other = add_key(keys, "mine"), add_key(keys, "other")
        server = start_server(service("en-de", api_keys=keys, state=tmp_path))
        client = deepl.DeepLClient(mine, server_url=server.url)
        stranger = deepl.DeepLClient(other, server_url=server.url)
        result = translate(client, "house", **EN_DE)
        assert result.text == "HOUSE"
        with pytest.raises(deepl.AuthorizationException):
            deepl.DeepLClient("wrong", server_url=server.url).get_usage()
        made = client.create_glossary("G", "EN", "DE", {"a": "b"})
        assert stranger.list_glossaries() == []
        with pytest.raises(deepl.GlossaryNotFoundException):
            stranger.get_glossary(made.glossary_id)
        with pytest.raises(deepl.GlossaryNotFoundException):
            stranger.delete_glossary(made.glossary_id)
        with pytest.raises(deepl.DeepLException, match="no such glossary"):
            stranger.translate_text("a", **EN_DE, glossary=made.glossary_id)
        handle = client.translate_document_upload("house", filename="a.txt", **EN_DE)
        with pytest.raises(deepl.DeepLException, match="no such document"):
            stranger.translate_document_get_status(handle)
        assert (client.get_usage().character.count, stranger.get_usage().character.count) == (10, 0)

    def test_without_a_key(self, start_server: StartServer, tmp_path: Path) -> None:
        add_key(tmp_path / "keys")
        server = start_server(service("en-de", api_keys=tmp_path / "keys", state=tmp_path))
        for path in ("/v2/translate", "/v2/languages", "/v2/usage", "/v2/document", "/v2/glossaries", "/v3/glossaries"):
            answer = server.post(path, json={})
            assert answer.status_code == 403
            assert isinstance(answer.json()["message"], str)

    def test_too_many_requests(self, start_server: StartServer, tmp_path: Path) -> None:
        server = start_server(service("en-de", requests_per_minute=1, state=tmp_path))
        answers = [server.post("/v2/usage") for _ in range(3)]
        assert answers[-1].status_code == 429
        assert answers[-1].json()["message"].startswith("Slowdown")


class TestLongWork:
    def test_spaces_until_the_answer_is_ready(self, gated: tuple[TestServer, Event, list[str]]) -> None:
        server, gate, calls = gated
        options = {"text": ["the house"], **EN_DE}
        with (
            httpx.Client(base_url=server.url, timeout=120) as one,
            one.stream("POST", "/v2/translate", json=options) as first,
            one.stream("POST", "/v2/translate", json=options) as second,
        ):
            parts, others = first.iter_bytes(), second.iter_bytes()
            assert first.status_code == second.status_code == 200
            assert next(parts).strip() == b""  # before the translation is ready
            assert next(others).strip() == b""
            gate.set()
            rest = b"".join(parts)
            assert rest.strip() == b"".join(others).strip()
        assert b'"text":"THE HOUSE"' in rest
        assert len(calls) == 1  # identical requests in flight are one
        result = translate(deepl.DeepLClient("k", server_url=server.url), "a", **EN_DE)
        assert result.text == "A"

    def test_a_refusal_before_that_has_its_status(self, start_server: StartServer, tmp_path: Path) -> None:
        server = start_server(service("en-de", patience_seconds=60.0, state=tmp_path))
        assert post(server, "/v2/translate", json={"text": ["a"], "target_lang": "XX"}).status_code == 400

    def test_hanging_up_frees_the_place(self, gated: tuple[TestServer, Event, list[str]]) -> None:
        server, gate, _ = gated
        with httpx.Client(base_url=server.url, timeout=120) as client:
            options = {"text": ["the house"], **EN_DE}
            with client.stream("POST", "/v2/translate", json=options) as answer:
                parts = answer.iter_bytes()  # closing it would hang up
                assert next(parts).strip() == b""
                assert server.call(lambda: server.service.jobs) == 1
        gate.set()
        while server.call(lambda: server.service.jobs):
            pass
