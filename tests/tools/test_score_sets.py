"""Scores of translated sets, in the form that tools.make_facts reads."""

from pathlib import Path

from sacrebleu import corpus_bleu, corpus_chrf
from tools.make_facts import scores_of
from tools.score_sets import describe, score


def test_a_set_is_scored_in_both_directions(tmp_path: Path) -> None:
    sets, hypotheses = tmp_path / "sets", tmp_path / "hypotheses"
    sets.mkdir()
    hypotheses.mkdir()
    pairs = [("The cat is asleep now.", "Die Katze schläft jetzt."), ("It is cold here.", "Es ist kalt hier.")]
    for name in ("books", "daily"):
        (sets / f"{name}.en-de.tsv").write_text("".join(f"{en}\t{de}\n" for en, de in pairs), encoding="utf-8")
    german = ["Die Katze schläft nun.", "Es ist kalt hier."]
    (hypotheses / "books.en-de.de").write_text("".join(f"{line}\n" for line in german), encoding="utf-8")
    (hypotheses / "daily.en-de.en").write_text("".join(f"{en}\n" for en, _ in pairs), encoding="utf-8")
    tree = describe("model", [score(sets, path) for path in sorted(hypotheses.iterdir())])
    first, second = scores_of(tree, None).sets
    assert (first.name, first.pair, first.sentences) == ("daily", ("de", "en"), 2)
    assert round(first.scores["bleu"].score) == 100
    assert (second.name, second.pair) == ("books", ("en", "de"))
    references = [[de for _, de in pairs]]
    assert second.scores["bleu"].score == corpus_bleu(german, references).score
    assert second.scores["chrf2"].score == corpus_chrf(german, references).score
