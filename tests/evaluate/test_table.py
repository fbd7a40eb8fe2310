"""The text table of an evaluation: aligned columns, and the same figures as in the evaluation."""

from hark.evaluate.table import brief_table, full_table
from tests.evaluate.material import SET, small_evaluation


def test_the_full_table_has_every_score_and_signature() -> None:
    result = small_evaluation(resamples=20)
    lines = list(full_table(result))
    assert lines[0] == f"{SET.name}: {len(SET)} sentences"
    good, poor = (next(line for line in lines if line.startswith(name)) for name in ("good", "poor"))
    assert len(good) == len(poor)
    assert "p=" not in good, "the first system is what the others are compared with"
    scores = result.sets[0].systems[1].scores
    assert f" {scores['bleu'].value:.1f} ±{scores['bleu'].confidence:.1f} p={scores['bleu'].p:.3f}" in poor
    for signature in result.signatures.values():
        assert any(line.endswith(signature) for line in lines)
    assert "20 bootstrap resamples; p: paired test against the first system" in lines[-1]


def test_the_brief_table_is_aligned_and_has_no_footnote_without_resampling() -> None:
    result = small_evaluation(resamples=0)
    _, heads, good, poor, bleu, chrf2 = brief_table(result)
    assert heads.split() == ["system", "BLEU", "chrF2", "sentences/s"]
    column = heads.index("BLEU") + len("BLEU")
    for line, system in zip((good, poor), result.sets[0].systems, strict=True):
        assert line[:column].endswith(f" {system.scores['bleu'].value:.1f}")
    assert bleu == f"BLEU: {result.signatures['bleu']}"
    assert chrf2 == f"chrF2: {result.signatures['chrf2']}"
