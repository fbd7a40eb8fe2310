"""Conclusions are computed from the figures: the paper's own rows confirm the paper."""

from hark.reproduce.published import TABLE_3
from hark.reproduce.table3 import draw_conclusions
from hark.reproduce.work import Row

PAPER: dict[str, Row] = {each.name: {"perplexity": each.perplexity, "bleu": each.bleu} for each in TABLE_3}
SEED: Row = {"perplexity": 4.93, "bleu": 25.75}


def verdicts(rows: dict[str, Row], second: Row) -> list[str]:
    return [each.verdict for each in draw_conclusions(rows, second)]


def test_the_papers_rows_confirm_its_conclusions() -> None:
    assert set(verdicts(PAPER, SEED)) == {"holds"}


def test_opposite_rows_refute_them() -> None:
    """All orders of the paper's perplexities and scores reversed."""
    rows = {
        name: {"perplexity": 10 - row["perplexity"], "bleu": 50 - row["bleu"]}
        for name, row in PAPER.items()
    }  # fmt: skip
    assert "holds" not in verdicts(rows, {"perplexity": 5.07, "bleu": 24.25})[2:8]


def test_differences_below_that_of_two_seeds_do_not_count() -> None:
    found = draw_conclusions(PAPER, {"perplexity": 9.0, "bleu": 10.0})
    assert {each.verdict for each in found[:-1]} == {"within the noise"}
    assert found[-1].verdict == "holds"  # learned positions are alike, all the more


def test_a_diverged_row_is_not_a_result() -> None:
    rows = {**PAPER, "D-drop0": {"failed": "non-finite loss"}}
    by_claim = {each.claim: each.verdict for each in draw_conclusions(rows, SEED)}
    assert by_claim["(D) Dropout is very helpful against over-fitting"] == "not measured"
    assert by_claim["(B) A smaller key size d_k hurts quality"] == "holds"


def test_a_conclusion_states_its_figures() -> None:
    first = draw_conclusions(PAPER, SEED)[0]
    assert "BLEU 25.8 against 24.9" in str(first)
    assert "**holds**" in str(first)
