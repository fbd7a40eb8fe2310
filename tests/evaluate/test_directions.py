"""Evaluation in several directions: matrices of scores, as text, JSON and heat maps."""

import json

import pytest

from hark.errors import UserError
from hark.evaluate.directions import choose_sets, matrices, matrix_table, set_direction
from hark.evaluate.evaluation import evaluate
from hark.evaluate.examples import choose_examples
from hark.evaluate.held_out import HeldOutSet, sets_of
from hark.evaluate.page import render
from hark.evaluate.systems import ModelSystem
from hark.translate.load import Loaded
from tests.evaluate.material import Known
from tests.trilingual import DIRECTIONS


@pytest.fixture(scope="module")
def model(many_run):
    return ModelSystem("toy", Loaded(many_run.best, engine="ctranslate2", threads=1))


@pytest.fixture(scope="module")
def result(model, many_dataset):
    return evaluate(sets_of(many_dataset), [model], resamples=0)


def test_every_direction_is_scored(result):
    assert sorted(each.held_out.languages for each in result.sets) == DIRECTIONS
    assert set(result.signatures) == {"bleu", "chrf2"}
    bleu, chrf2 = matrices(result)
    assert (bleu.system, bleu.corpus, bleu.measure, chrf2.measure) == ("toy", "test", "bleu", "chrf2")
    assert min(bleu.values.values()) > 60  # it translates nearly all sentences word for word
    assert bleu.values == {each.held_out.languages: each.systems[0].scores["bleu"].value for each in result.sets}
    assert not bleu.zero_shot


def test_the_matrix_as_text(result):
    lines = list(matrix_table(result))
    bleu = next(iter(matrices(result)))
    assert lines[0] == f"toy, test: BLEU, mean {bleu.mean:.1f} of 6 directions"
    assert lines[1].split() == ["de", "en", "fr"]
    assert lines[2].split() == ["de", "-", f"{bleu.values['de', 'en']:.1f}", f"{bleu.values['de', 'fr']:.1f}"]
    assert [line.split()[0] for line in lines[2:5]] == ["de", "en", "fr"]
    assert "rows: source, columns: target" in lines
    assert lines[-1].startswith("chrF2: ")


def test_the_matrix_as_json(result):
    sets = json.loads(result.to_json())["sets"]
    assert sorted(tuple(each["languages"]) for each in sets) == DIRECTIONS
    assert all(set(each["systems"][0]["scores"]) == {"bleu", "chrf2"} for each in sets)


def test_the_matrix_as_a_heat_map(result, model):
    page = render(result, choose_examples(result, [model], 1, 2))
    assert page.count('<table class="heat">') == 2
    for source, target in DIRECTIONS:
        assert f"{source} to {target}: BLEU " in page
        assert f"Worst sentences of test.{source}-{target}" in page


def test_directions_without_training_are_marked(model, result):
    trained = model.loaded.facts.pairs
    first = result.sets[0].held_out

    class Untrained(ModelSystem):
        def is_trained_on(self, pair):
            return pair != first.languages

    other = evaluate([each.held_out for each in result.sets[:3]], [Untrained("toy", model.loaded)], resamples=0)
    bleu = next(iter(matrices(other)))
    assert bleu.zero_shot == {first.languages}
    assert bleu.show(first.languages).endswith("*")
    assert any(line.endswith("*: not trained on") for line in matrix_table(other))
    assert model.is_trained_on(trained[0])
    assert not model.is_trained_on(("en", "it"))


def test_the_choice_of_directions(model, many_dataset):
    sets = sets_of(many_dataset)
    into_french = choose_sets(sets, [model], None, "fr")
    assert sorted(each.name for each in into_french) == ["test.de-fr", "test.en-fr"]
    assert [each.name for each in choose_sets(sets, [model], "de", "fr-CA")] == ["test.de-fr"]
    with pytest.raises(UserError, match="no test set to it; the languages are de, en, fr"):
        choose_sets(sets, [model], None, "it")


def test_other_sets_need_languages(model):
    sets = [HeldOutSet("test", ("a",), ("b",))]
    with pytest.raises(UserError, match="needs the languages of the test sets; name them with -s and -t"):
        set_direction(sets, [model], None, None, None)
    assert set_direction(sets, [model], None, "en", "de")[0].languages == ("en", "de")
    assert set_direction(sets, [model], ("en", "de"), None, None)[0].languages == ("en", "de")
    with pytest.raises(UserError, match="-s and -t: the test sets are en to de; leave them out"):
        set_direction(sets, [model], ("en", "de"), None, "fr")
    assert set_direction(sets, [], ("en", "de"), None, None) == sets


def test_systems_from_files_have_matrices_too():
    texts = ("eins zwei drei vier fünf",)
    sets = [HeldOutSet(f"test.{one}-{other}", texts, texts, (one, other)) for one, other in DIRECTIONS]
    result = evaluate(sets, [Known("other", texts)], resamples=0)
    assert [round(matrix.mean) for matrix in matrices(result)] == [100, 100]
