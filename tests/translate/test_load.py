"""Loading a bundle: both engines, lazily, and without torch if it is not needed."""

import gc
import shutil
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import hark
from hark.bundle import Bundle, write_facts
from hark.errors import UserError
from hark.models import shipped_folder
from hark.translate import load
from tests.translate.bundles import make_bundle

TEXT = "  - The cat sees {name} at https://a.b/c.\n\n\tIt is 12.5 kg."


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, beside one of the reverse direction for second looks, which would load the large shipped one."""
    folder = tmp_path_factory.mktemp("bundles")
    make_bundle(folder / "reverse", "de", "en")
    return make_bundle(folder / "small")


@pytest.mark.parametrize("engine", ["ctranslate2", "torch"])
def test_text_to_text_with_a_real_engine(bundle: Path, engine: str) -> None:
    loaded = hark.load(bundle, engine=engine, device="cpu", precision="float32", threads=1)
    assert loaded.config.data.target == "de"
    assert "en to de" in loaded.card
    result = loaded.translate(TEXT)
    assert result.text.startswith("  - ")
    assert "\n\n\t" in result.text
    for item in ("{name}", "https://a.b/c", "12,5 kg"):
        assert result.text.count(item) == 1
    stream = loaded.translate((line for line in TEXT.splitlines(True)), beam=2, align=True)
    assert len(list(stream)) == 3
    loaded.close()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Danke", "already German"),
        ("Dziękuję", "Polish"),
        ("ありがとう", "Japanese"),
        ("Tack", "Swedish"),
        ("Mange tak", "Danish"),
        ("Teşekkürler", "Turkish"),
        ("Tåget avgår klockan fem på eftermiddagen från spår tre.", "Swedish"),
    ],
)
def test_what_the_model_cannot_translate_is_kept(bundle: Path, text: str, name: str) -> None:
    result = hark.load(bundle).translate(text)
    assert result.text == text
    assert {"copied", "language"} <= set(result.flags)
    assert str(result.reasons[0]) == f"not translated: not in the source language ({name})"


def test_the_user_knows_the_language_of_a_word_better(bundle: Path) -> None:
    loaded = hark.load(bundle)
    assert "language" not in loaded.translate("Danke", source="en").flags
    assert "language" not in loaded.translate("Danke", detect=False).flags
    assert "language" in loaded.translate("Dziękuję bardzo za wszystko, do jutra.", source="en").flags


@pytest.mark.parametrize("engine", ["ctranslate2", "torch"])
def test_eight_threads_share_a_model(bundle: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    open_engine = load.open_engine
    monkeypatch.setattr(load, "open_engine", lambda *given: opened.append(given) or open_engine(*given))  # type: ignore[func-returns-value]
    loaded = hark.load(bundle, engine=engine, device="cpu", precision="float32", threads=2)

    def work(number: int) -> None:
        texts = [f"The cat sees {{name{number}x{i}}}." for i in range(6)]
        for text, done in zip(texts, loaded.translate(texts, beam=1, max_extra=2), strict=True):
            assert text[13:-1] in done.text
            assert text[13:-1] in loaded.translate(text, beam=1, max_extra=2).text
            assert len(list(loaded.score([(text, done.text)]))) == 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            for each in [pool.submit(work, number) for number in range(8)]:
                each.result(600)
    finally:
        sys.setswitchinterval(interval)
    assert len(opened) == 1
    loaded.close()


def test_a_model_by_its_name(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARK_MODELS", str(bundle.parent))
    assert hark.load("small").bundle.folder == bundle
    with pytest.raises(UserError, match=r"smal: no such model; did you mean small\?"):
        hark.load("smal")


def test_a_pair_of_languages_names_the_model_that_translates_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hark.models.places", lambda: [tmp_path])
    shutil.copytree(shipped_folder() / "seven", tmp_path / "seven")
    loaded = hark.load("en-de")
    assert (loaded.bundle.folder.name, loaded.pairs) == ("seven", (("en", "de"),))
    assert loaded.translate("The cat is asleep.").text == "Die Katze schläft."
    short = loaded.translate("see you tomorrow")  # too short to tell its language
    assert (short.text, "language" in short.flags) == ("Bis morgen", False)
    german = loaded.translate("Guten Morgen, wie geht es Ihnen heute?")
    assert german.text == "Guten Morgen, wie geht es Ihnen heute?"
    assert "language" in german.flags
    with pytest.raises(UserError, match="translates only to de"):
        loaded.translate("Hello", target="fr")
    assert loaded.reverse("en", "de") is loaded
    assert hark.load("seven").pairs == loaded.facts.pairs
    with pytest.raises(UserError, match="en-sv: no such model"):
        hark.load("en-sv")


def test_both_engines_say_the_same(bundle: Path) -> None:
    texts = ["The cat sees a house.", "THE CAT SEES A HOUSE", "Die Katze ist auf dem Dach und sieht das Haus."]
    ours, theirs = (
        hark.load(bundle, engine=engine, device="cpu", precision="float32", threads=1)
        for engine in ("torch", "ctranslate2")
    )
    for one, other in zip(ours.translate(texts, nbest=2), theirs.translate(texts, nbest=2), strict=True):
        assert (one.text, one.flags) == (other.text, other.flags)
        assert one.score == pytest.approx(other.score, abs=1e-3)
    pairs = [("The cat.", "Die Katze."), ("a", "")]
    assert list(ours.score(pairs)) == pytest.approx(list(theirs.score(pairs)), abs=1e-3)


def test_the_network_is_there_for_who_wants_it(bundle: Path) -> None:
    loaded = hark.load(bundle)
    assert not loaded.model.training
    assert loaded.model.embedding.weight.shape == (700, 16)
    assert "engine" not in loaded.__dict__


def test_torch_is_not_imported_to_translate(bundle: Path) -> None:
    code = (
        "import sys, hark\n"
        f"result = hark.load({str(bundle)!r}, device='cpu').translate('The cat sees it.')\n"
        "assert result.text\n"
        "heavy = {'torch', 'rich.console', 'safetensors.torch'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_it_works_where_torch_is_not_installed(bundle: Path) -> None:
    code = (
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('torch', 'triton'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
        "import hark\n"
        f"loaded = hark.load({str(bundle)!r})\n"
        "print(loaded.translate('The cat sees it.').text)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (
            {"engine": "ctranslate2", "device": "cuda"},
            "--engine ctranslate2 runs on the CPU only; use",
        ),
        (
            {"engine": "torch", "device": "cpu", "precision": "int8"},
            "--engine torch does not support int8; use",
        ),
        ({"device": "cuda:99"}, "no such GPU; this machine has"),
        ({"engine": "torch", "device": "abacus"}, "abacus: no such device; use cpu, cuda or cuda:1"),
        ({"engine": "torch", "device": "tpu"}, "tpu: no such device"),
    ],
)
def test_impossible_choices_are_refused_in_one_line(bundle: Path, choice: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        hark.load(bundle, **choice).translate("The cat.")


def test_settings_of_the_search(bundle: Path) -> None:
    own = hark.load(bundle).config.decode
    assert own.changed({"beam": 1}).beam == 1
    assert own.changed({"nbest": 9}).beam == 9
    with pytest.raises(UserError, match=r"decode\.nbest: 9 is more than beam 2 can return"):
        own.changed({"nbest": 9, "beam": 2})
    with pytest.raises(UserError, match="bean: no such search setting"):
        hark.load(bundle).translate("The cat.", bean=3)


def test_the_facts_may_have_a_threshold_for_unsure(tmp_path: Path) -> None:
    folder = shutil.copytree(shipped_folder() / "seven", tmp_path / "strict")
    bundle, languages = Bundle.open(folder), {"source": "en", "target": "de"}
    for unsure, directions, flagged in ((0.0001, {}, True), (0.0001, {"en-de": 10.0}, False), (10.0, {}, False)):
        write_facts(bundle, replace(bundle.facts, unsure=unsure, unsure_directions=directions))
        found = load.Loaded(folder).translate("The cat is asleep.", check=False, **languages)
        assert ("unsure" in found.flags) == flagged


@pytest.mark.parametrize("engine", ["ctranslate2", "torch"])
def test_memory_is_free_as_soon_as_nobody_uses_a_model(bundle: Path, engine: str) -> None:
    loaded = hark.load(bundle, engine=engine, device="cpu", precision="float32", threads=1)
    loaded.translate(TEXT)
    opened = weakref.ref(loaded.engine)
    gc.collect()
    gc.disable()  # which may come round only after many models
    try:
        del loaded
        assert opened() is None
    finally:
        gc.enable()
