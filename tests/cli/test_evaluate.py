"""`hark evaluate` with an untrained model and with files."""

from dataclasses import replace
from pathlib import Path

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from hark.config import CleanConfig, Config, CorpusConfig
from hark.data.prepare import prepare
from hark.errors import HarkError
from hark.translate.load import Loaded
from tests.cli.running import Hark, figures, make_runner, refused
from tests.evaluate.material import GOOD, POOR, REFERENCES, SOURCES
from tests.translate.bundles import make_bundle

SET = ("--source", "test.en", "--reference", "test.de")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("models") / "small")


@pytest.fixture
def hark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hark:
    files = {"test.en": SOURCES, "test.de": REFERENCES, "good.de": GOOD, "poor.de": POOR}
    return make_runner("evaluate", tmp_path, files, monkeypatch, capfd)


def test_files_of_two_systems(hark: Hark) -> None:
    tree = figures(hark("--hypothesis", "good=good.de", "--hypothesis", "poor.de", *SET, "--json", "--resamples", "50"))
    (of_set,) = tree["sets"]
    assert (of_set["name"], of_set["sentences"]) == ("test", 4)
    assert [each["name"] for each in of_set["systems"]] == ["good", "poor.de"]
    oracle = BLEU()
    for each, texts in zip(of_set["systems"], (GOOD, POOR), strict=True):
        assert each["scores"]["bleu"]["score"] == oracle.corpus_score(texts, [REFERENCES]).score
        assert each["speed"] is None
    assert tree["signatures"]["bleu"] == str(oracle.get_signature())
    assert of_set["systems"][1]["scores"]["bleu"]["p"] <= 1


def test_brief_output(hark: Hark, bundle: Path) -> None:
    done = hark(str(bundle), "--hypothesis", "good=good.de", *SET, "--brief", "--resamples", "0", "--threads", "1")
    title, head, model, good, *signatures = done.stdout.splitlines()
    assert title == "test: 4 sentences"
    assert head.split() == ["system", "BLEU", "chrF2", "sentences/s"]
    assert model.split()[0] == "small"
    oracles = (BLEU(), CHRF())
    scores = [oracle.corpus_score(GOOD, [REFERENCES]).score for oracle in oracles]
    assert good.split() == ["good", *(f"{score:.1f}" for score in scores)]  # a file has no speed
    assert signatures == [f"{n}: {o.get_signature()}" for n, o in zip(("BLEU", "chrF2"), oracles, strict=True)]


def test_a_dataset_is_read_in_the_direction_of_the_model(hark: Hark, tmp_path: Path, dataset: Path) -> None:
    """The test set of an English-German dataset, for a model from German to English."""
    made = replace(
        Config().data, train=(CorpusConfig("train.en", "train.de"),), test=(CorpusConfig("test.en", "test.de"),)
    )
    made = replace(made, tokenizer=str(dataset / "tokenizer.model"), clean=CleanConfig(language=1))
    for language in ("en", "de"):
        Path(f"train.{language}").write_text((dataset.parent / f"train.{language}").read_text())
    prepare(Config(data=made), tmp_path / "dataset", processes=1)
    back = make_bundle(tmp_path / "back", "de", "en")
    tree = figures(hark(str(back), "--dataset", "dataset", "--json", "--resamples", "0", "--threads", "1"))
    texts = [each.text for each in Loaded(back, threads=1).translate(REFERENCES, split=False, protect=False)]
    (system,) = tree["sets"][0]["systems"]
    assert system["scores"]["chrf2"]["score"] == CHRF().corpus_score(texts, [SOURCES]).score
    other = make_bundle(tmp_path / "other", "en", "fr")
    assert "translates en to fr, not en to de" in refused(hark(str(other), "--dataset", "dataset"))


def test_a_model_is_scored_on_its_own_translations(hark: Hark, bundle: Path) -> None:
    tree = figures(hark(str(bundle), *SET, "--json", "--resamples", "0", "--threads", "1"))
    (system,) = tree["sets"][0]["systems"]
    texts = [each.text for each in Loaded(bundle, threads=1).translate(SOURCES, split=False, protect=False)]
    assert system["name"] == "small"
    assert system["scores"]["bleu"]["score"] == BLEU().corpus_score(texts, [REFERENCES]).score
    assert system["speed"]["engine"].startswith("CTranslate2")
    assert system["speed"]["sentences_per_second"] > 0


def test_the_table_and_the_page(hark: Hark, bundle: Path) -> None:
    done = hark(str(bundle), "--hypothesis", "poor.de", *SET, "-o", "page.html", "--resamples", "20", "--threads", "1")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "test: 4 sentences"
    assert lines[1].split()[:4] == ["system", "BLEU", "chrF2", "TER"]
    assert lines[2].startswith("small ")
    assert "p=" in lines[3]
    assert any(line.startswith("BLEU: nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:") for line in lines)
    assert any("sentences/s" in line and "CTranslate2" in line for line in lines)
    page = Path("page.html").read_text(encoding="utf-8")
    assert "Most changed sentences" in page
    assert "data-target=" in page

    piped = hark("--hypothesis", "poor.de", *SET, "-o", "-", "--resamples", "0")
    assert (piped.returncode, piped.stderr) == (0, "")
    assert piped.stdout.startswith("<!doctype html>")
    assert "both write to stdout" in refused(hark("--hypothesis", "poor.de", *SET, "-o", "-", "--json"))


def test_several_test_sets_are_several_rows(hark: Hark) -> None:
    words = (*SET, *SET, "--name", "one", "--name", "two")
    tree = figures(hark("--hypothesis", "x=good.de", "--hypothesis", "x=poor.de", *words, "--json", "--resamples", "0"))
    assert [each["name"] for each in tree["sets"]] == ["one", "two"]
    good, poor = (each["systems"][0]["scores"]["bleu"]["score"] for each in tree["sets"])
    assert good > poor


def test_exit_code_for_scores_below_a_baseline(hark: Hark) -> None:
    good, poor = (("--hypothesis", f"x={name}.de", *SET, "--resamples", "0") for name in ("good", "poor"))
    Path("before.json").write_text(hark(*good, "--json").stdout)
    assert hark(*good, "--baseline", "before.json", "--worse-than", "0").returncode == 0
    done = hark(*poor, "--baseline", "before.json", "--worse-than", "1")
    assert done.returncode == 3
    assert "worse" in done.stderr
    assert "test: 4 sentences" in done.stdout
    assert hark(*poor, "--baseline", "before.json").returncode == 3
    assert hark(*poor, "--baseline", "before.json", "--worse-than", "100").returncode == 0
    assert hark(*poor, "--baseline", "before.json", "--metric", "ter", "--worse-than", "1").returncode == 3
    Path("after.json").write_text(hark(*poor, "--json").stdout)
    assert hark(*good, "--baseline", "after.json", "--metric", "ter", "--worse-than", "0").returncode == 0


def test_users_mistakes_are_one_line(hark: Hark, bundle: Path, tmp_path: Path) -> None:
    Path("short.de").write_text("Ein Hund.\n")
    files = ("--hypothesis", "good.de", *SET)
    assert "good.de has 4 lines" not in refused(hark("--hypothesis", "short.de", *SET))
    assert "short.de has 1 lines but test has 4" in refused(hark("--hypothesis", "short.de", *SET))
    assert "test.en has 4 lines but short.de has 1" in refused(
        hark(str(bundle), "--source", "test.en", "--reference", "short.de")
    )
    assert "no such model" in refused(hark("nowhere", *SET))
    assert "no test set; use --source FILE" in refused(hark(str(bundle)))
    assert "nothing to evaluate; name a model" in refused(hark(*SET))
    assert "not a hark dataset; create one with hark prepare" in refused(hark(str(bundle), "--dataset", str(tmp_path)))
    assert "--dataset cannot be combined with --source" in refused(hark(str(bundle), "--dataset", str(tmp_path), *SET))
    assert "two systems are named good.de" in refused(hark(str(bundle.rename(bundle.parent / "good.de")), *files))
    (bundle.parent / "good.de").rename(bundle)
    assert "name a .html file" in refused(hark(*files, "-o", "page.pdf"))
    assert "no such folder: no" in refused(hark(*files, "-o", "no/page.html"))
    assert "--worse-than requires --baseline" in refused(hark(*files, "--worse-than", "1"))
    assert "--metric comet requires --comet" in refused(hark(*files, "--metric", "comet"))
    other = make_bundle(tmp_path / "other", "de", "en")
    assert "other: translates de to en, not en to de" in refused(hark(str(bundle), str(other), *SET))


GERMAN = ["Der Hund läuft schnell durch den alten Wald.", "Wir haben gestern ein kleines Haus gekauft."]
ENGLISH = ["The dog runs quickly through the old forest.", "Yesterday we bought a small house."]


def test_swapped_source_and_reference_cause_a_warning(
    hark: Hark, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("said.de").write_text("\n".join(GERMAN) + "\n")
    Path("said.en").write_text("\n".join(ENGLISH) + "\n")
    swapped = ("--source", "said.de", "--reference", "said.en", "--resamples", "0")
    done = hark(str(bundle), *swapped)
    assert done.returncode == 0
    assert done.stderr == (
        "said: the source looks like de, but the model translates from en to de: "
        "are --source and --reference swapped?\n"
    )
    assert hark(str(bundle), "--source", "said.en", "--reference", "said.de", "--resamples", "0").stderr == ""
    Path("said.fr").write_text("Le chien court vite à travers la vieille forêt.\nNous avons acheté une maison hier.\n")
    assert hark(str(bundle), "--source", "said.fr", "--reference", "said.de", "--resamples", "0").stderr == ""

    def missing() -> None:
        raise HarkError("no detector here")

    monkeypatch.setattr("hark.evaluate.held_out.known_languages", missing)
    assert hark(str(bundle), *swapped).stderr == ""  # the detector is optional


def test_a_missing_sacrebleu_names_the_extra(hark: Hark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hark.errors.find_spec", lambda name: None)  # noqa: ARG005
    done = hark("--hypothesis", "good.de", *SET)
    assert done.returncode == 1
    assert "hark evaluate requires sacrebleu: pip install 'hark-translate[train]'" in done.stderr
