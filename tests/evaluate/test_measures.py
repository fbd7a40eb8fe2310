"""The Moses-like tokeniser; expected tokens are from sacremoses on the lower-cased line."""

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from hark.errors import MissingExtraError, UserError
from hark.evaluate.evaluation import evaluate
from hark.evaluate.measures import Comet, MosesTokens, find_checkpoint, make_measures
from hark.evaluate.scores import score_set
from tests.evaluate.material import GOOD, REFERENCES, SET, SOURCES, systems

KNOWN = [
    ("fr", "Un homme, l'enfant et 3.5 kg (T-shirt) !", "un homme , l' enfant et 3.5 kg ( t-shirt ) !"),
    ("fr", "Aujourd'hui, d’hommes.", "aujourd' hui , d' hommes ."),
    ("en", "Don't take the man's 1,000 things...", "don 't take the man 's 1,000 things ..."),
    ("de", "Ein „Hund“ läuft – schnell.", 'ein " hund " läuft - schnell .'),
    ("de", "Ein Mann's Hut: z.B. E-Mail.", "ein mann ' s hut : z.b. e-mail ."),
    ("de", "Er geht. Sie kommt.", "er geht. sie kommt ."),  # the text is lower-cased first
    ("de", "", ""),
]


@pytest.mark.parametrize(("language", "line", "tokens"), KNOWN)
def test_known_lines(language: str, line: str, tokens: str) -> None:
    assert MosesTokens(language)(line) == tokens


@given(st.text(max_size=40), st.sampled_from(["de", "en", "fr"]))
def test_only_spaces_and_case_and_ascii_change(line: str, language: str) -> None:
    from hark.evaluate.measures import ASCII

    before = "".join(line.lower().translate(ASCII).split())
    assert "".join(MosesTokens(language)(line).split()) == before


def test_the_metric_is_bleu_of_those_tokens() -> None:
    moses = MosesTokens("de")
    (score,), signature = score_set(SET, [[each.upper() for each in GOOD]], make_measures("13a", "de")["lower_bleu"], 0)
    oracle = BLEU(tokenize="none", smooth_method="none", force=True)
    expected = oracle.corpus_score([moses(each) for each in GOOD], [[moses(each) for each in REFERENCES]])
    assert score.value == expected.score
    assert "case:lc" in signature
    assert "tok:moses-de-without-abbreviations|smooth:none" in signature


class CometStub:
    def predict(self, samples: list[dict[str, str]], batch_size: int, gpus: int, progress_bar: bool) -> SimpleNamespace:
        assert (batch_size > 0, gpus in (0, 1), progress_bar) == (True, True, False)
        assert [each["src"] for each in samples] == list(SOURCES)
        assert [each["ref"] for each in samples] == list(REFERENCES)
        return SimpleNamespace(system_score=0.9 if samples[3]["mt"] == GOOD[3] else 0.2)


@pytest.fixture
def comet(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("comet")
    module.__spec__ = ModuleSpec("comet", None)
    module.load_from_checkpoint = lambda path: CometStub()  # type: ignore[attr-defined]  # noqa: ARG005
    monkeypatch.setitem(sys.modules, "comet", module)
    return module


def test_scores_of_a_model(comet: ModuleType, tmp_path: Path) -> None:  # noqa: ARG001
    inside = tmp_path / "wmt" / "checkpoints" / "model.ckpt"
    inside.parent.mkdir(parents=True)
    inside.touch()
    model = Comet(find_checkpoint(tmp_path / "wmt"))
    result = evaluate([SET], systems(), resamples=0, comet=model)
    assert [each.scores["comet"].value for each in result.sets[0].systems] == [0.9, 0.2]
    assert result.signatures["comet"].startswith("model:wmt|version:")


def test_a_missing_or_invalid_model_is_an_error(comet: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a COMET model; name a "):
        find_checkpoint(tmp_path)

    def broken(path: str) -> None:  # noqa: ARG001
        raise KeyError("hyper_parameters")

    comet.load_from_checkpoint = broken  # type: ignore[attr-defined]
    with pytest.raises(UserError, match="COMET cannot load it"):
        Comet(tmp_path)


def test_a_missing_package_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("hark.evaluate.measures.find_spec", lambda name: None)  # noqa: ARG005
    with pytest.raises(MissingExtraError, match="--comet requires the package unbabel-comet"):
        find_checkpoint(tmp_path)
