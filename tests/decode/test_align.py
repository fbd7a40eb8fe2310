"""Subwords merged to words."""

import numpy as np

from hark.decode.align import Link, link, merge, word_spans, words_of


def test_words_of_pieces() -> None:
    assert words_of(["▁the", "▁c", "at", "▁", "<0xF0>", "<0x9F>"]).tolist() == [0, 1, 1, 2, 2, 2]


def test_the_sum_over_a_words_subwords_and_the_mean_of_its_rows() -> None:
    attention_TS = np.array([[0.5, 0.2, 0.2, 0.1], [0.1, 0.4, 0.4, 0.1], [0.0, 0.6, 0.2, 0.2]], np.float32)
    merged = merge(attention_TS, ["▁the", "▁c", "at"], ["▁die", "▁Kat", "ze"])
    np.testing.assert_allclose(merged, [[0.5, 0.4], [0.05, 0.8]], atol=1e-6)
    links = link(
        attention_TS, ["▁the", "▁c", "at"], ["▁die", "▁Kat", "ze"], word_spans("the  cat"), word_spans("die Katze")
    )
    assert links == (Link((0, 3), (0, 3), 0.5556), Link((5, 8), (4, 9), 0.9412))


def test_what_does_not_match_gives_no_links() -> None:
    attention_TS = np.ones((1, 2), np.float32)
    assert link(attention_TS, ["▁a"], ["▁b"], [(0, 1), (2, 3)], [(0, 1)]) == ()
    assert link(attention_TS[:0], ["▁a"], [], [(0, 1)], []) == ()


def test_words_that_nobody_sees_are_none() -> None:
    assert word_spans(" a \u200b b\u00ad ") == [(1, 2), (5, 7)]
