"""The model card, rendered from facts."""

from hark import card as card_measures
from hark.card import describe_pairs, render
from hark.config import ModelConfig
from hark.evaluate.measures import TITLES
from hark.facts import Facts, LabelFacts, MakingFacts, MeasuredScore, ScoreFacts, SetScores, TextFacts
from tests.test_facts import FULL

MODEL = ModelConfig(d_model=64, d_ff=128, n_heads=4, n_encoder_layers=3, n_decoder_layers=1, vocab_size=9000)


def test_a_card_with_all_facts() -> None:
    text = render(FULL, MODEL)
    assert text.startswith("# Three languages\n\nSmall and quick.\n\n- Languages: de, en and fr, in all 6 directions\n")
    for line in (
        "- Trained on: europarl, tatoeba, starting from first",
        "- Weights: step 7",
        "- Stored in: int8",
        "- Shortlist: 500 common tokens, 12,345 other candidates (int8 on a CPU)",
        "- Alignment heads: 2:1, 2:4, at the step that reads a word; alignment error rate 0.271 on 508 pairs of gold",
        "- Target language: selected by a tag at the start of the source",
        "- Licence: Apache-2.0, with attribution of the training text (below)",
        "A Transformer of 3 + 1 layers, d_model 64, d_ff 128, 4 heads, vocabulary 9,000: 1,000 weights, post-norm.",
        "Data augmentation, as shares of the training pairs: lower 4%.",
        "It was trained for 7 steps of 25,000 tokens.",
        "Imported (marian) from Helsinki-NLP/opus-mt-en-fr, revision abc; original licence: CC BY 4.0.",
        "Import: 99 of 100 translations are identical to those of transformers 5.0 (beam 6); logits differ by at most "
        "1e-05 (allowed: 0.001).",
        "Not compared with x (--no-check).",
        "| europarl | 1,234,567 | Debates | Source: European Parliament |",
        "| tatoeba |  | Sentences | Source: [Tatoeba](https://tatoeba.org); [CC BY 2.0 FR](https://x.org/by) |",
        "| test (en to de) | 2,000 | 25.9 ±0.9 | 55.0 |",
        "- BLEU: `tok:13a`",
        "Measured during training at step 7. Dev sets are not trained on, but may have chosen the step.",
        "| dev set | nll (nats per token) | perplexity | BLEU |",
        "| news | 1.25 | 3.49 | 12.35 |",
        "| talks | 7.5 | 1,808 |  |",
        "It knows nothing of physics.",
        "Name the sources.",
    ):
        assert line in text.splitlines(), line
    assert "6 + 6 layers: 63,084,544 weights" in text
    assert "The training text contains no sentence of the test sets below" in text
    assert "not measured" not in text
    assert "only on the dev sets" not in text  # there are test sets
    assert "\n\n\n" not in text


def test_a_card_with_dev_sets_only() -> None:
    making = MakingFacts(step=1200, dev={"mine": {"nll": 0.25, "accuracy": 97.5}})
    facts = Facts(pairs=(), languages=("en",), making=making, labels=LabelFacts("text", ("no", "yes")))
    card = render(facts, MODEL)
    assert "- Scores: only on the dev sets (below)\n" in card
    assert "## Scores on the dev sets\n\nMeasured during training at step 1,200." in card
    assert card.endswith(
        "| dev set | nll (nats per label) | accuracy (%) |\n| --- | --- | --- |\n| mine | 0.25 | 97.5 |\n"
    )


def test_a_card_with_few_facts() -> None:
    facts = Facts(pairs=(("en", "xx"),), making=MakingFacts(parameters=1234), text=(TextFacts("mine"),))
    assert render(facts, MODEL) == (
        "# English to xx\n\nA Transformer made with hark: 3 + 1 layers, d_model 64, 1,234 weights.\n\n"
        "- Languages: en to xx\n- Trained on: mine\n- Licence: depends on the training text\n"
        "- Scores: not measured\n"
    )


def test_pairs_are_listed_or_summarised() -> None:
    assert describe_pairs([("en", "de")]) == "en to de"
    assert describe_pairs([("en", "de"), ("de", "en")]) == "en to de, de to en"
    codes = ("en", "de", "fr", "es")
    star = [pair for code in codes[1:] for pair in (("en", code), (code, "en"))]
    assert describe_pairs(star) == "en to de, de to en, en to fr, fr to en, en to es, es to en"
    every = [(one, other) for one in codes for other in codes if one != other]
    assert describe_pairs(every) == "de, en, es and fr, in all 12 directions"


def test_metrics_have_the_same_titles_as_in_evaluations() -> None:
    assert all(TITLES[measure] == title for measure, title in card_measures.TITLES.items())  # type: ignore[index]


def test_sets_of_few_directions_share_a_table() -> None:
    codes = ("de", "en", "fr")
    pairs = [(one, other) for one in codes for other in codes if one != other]
    scores = {"bleu": MeasuredScore(20.0), "chrf2": MeasuredScore(50.0)}
    sets = [SetScores("europarl", 2000, scores, pair=pair) for pair in pairs]
    sets += [SetScores("manuals", 1000, scores, pair=pair) for pair in pairs[:2]]
    sets += [SetScores("news", 3003, {"bleu": MeasuredScore(25.5)}, pair=pairs[1])]
    card = render(Facts(tuple(pairs), scores=ScoreFacts({"bleu": "signature"}, tuple(sets))), ModelConfig())
    assert "europarl, chrF2, 2,000 sentences in each direction" in card
    assert "manuals, BLEU" not in card
    assert "| BLEU | sentences | de-en | de-fr |" in card
    assert "| manuals | 1,000 | 20.0 | 20.0 |" in card
    assert "| news | 3,003 |  | 25.5 |" in card
    assert "| chrF2 | sentences | de-en | de-fr |" in card
    assert "\n\n\n" not in card


def test_scores_of_many_directions_are_matrices() -> None:
    codes = ("de", "en", "fr")
    pairs = [(one, other) for one in codes for other in codes if one != other]
    sets = tuple(
        SetScores("europarl", 2000, {"bleu": MeasuredScore(20.0 + number)}, pair=pair)
        for number, pair in enumerate(pairs)
    )
    facts = Facts(tuple(pairs), scores=ScoreFacts({"bleu": "signature"}, sets))
    card = render(facts, ModelConfig())
    assert "europarl, BLEU, 2,000 sentences in each direction (rows: source, columns: target):" in card
    assert "|  | de | en | fr |" in card
    assert "| de |  | 20.0 | 21.0 |" in card
    assert "| fr | 24.0 | 25.0 |  |" in card
    assert "- BLEU: `signature`" in card
    assert "europarl (de to en)" not in card
    assert "\n\n\n" not in card
