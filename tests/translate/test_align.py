"""Subword attention merged to word links."""

import numpy as np

from hark.translate.align import Link, link, merge, word_spans, words_of


def test_word_index_of_each_piece() -> None:
    assert words_of(["▁the", "▁c", "at", "▁", "<0xF0>", "<0x9F>"]).tolist() == [0, 1, 1, 2, 2, 2]


def test_attention_is_summed_over_source_subwords_and_averaged_over_target_subwords() -> None:
    attention_TS = np.array([[0.5, 0.2, 0.2, 0.1], [0.1, 0.4, 0.4, 0.1], [0.0, 0.6, 0.2, 0.2]], np.float32)
    merged = merge(attention_TS, ["▁the", "▁c", "at"], ["▁die", "▁Kat", "ze"])
    np.testing.assert_allclose(merged, [[0.5, 0.4], [0.05, 0.8]], atol=1e-6)
    links = link(
        attention_TS, ["▁the", "▁c", "at"], ["▁die", "▁Kat", "ze"], word_spans("the  cat"), word_spans("die Katze")
    )
    assert links == (Link((0, 3), (0, 3), 0.5556), Link((5, 8), (4, 9), 0.9412))


def test_punctuation_attached_to_a_word_does_not_count() -> None:
    """In "... leave the house." -> "... das Haus verlassen.", the full stop looks at the full stop of "house."."""
    source, target = ["▁leave", "▁house", "."], ["▁Haus", "▁verlassen", "."]
    attention_TS = np.array([[0, 1, 0, 0], [0.7, 0.2, 0.1, 0], [0, 0.1, 0.9, 0]], np.float32)
    merged = merge(attention_TS, source, target)
    np.testing.assert_allclose(merged, [[0, 1], [0.7, 0.2]], atol=1e-6)
    alone = merge(attention_TS, ["▁leave", "▁house", "▁."], ["▁Haus", "▁verlassen", "▁."])
    np.testing.assert_allclose(alone[2], [0, 0.1, 0.9], atol=1e-6)  # a word of its own counts


def test_mismatched_words_give_no_links() -> None:
    attention_TS = np.ones((1, 2), np.float32)
    assert link(attention_TS, ["▁a"], ["▁b"], [(0, 1), (2, 3)], [(0, 1)]) == ()
    assert link(attention_TS[:0], ["▁a"], [], [(0, 1)], []) == ()


def test_invisible_words_are_ignored() -> None:
    assert word_spans(" a \u200b b\u00ad ") == [(1, 2), (5, 7)]
