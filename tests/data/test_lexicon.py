"""The bilingual lexicon: what is learnt from pairs, and drawing single words."""

from collections import Counter

import numpy as np
import pytest

from hark.data.lexicon import SingleWords, find_words, short_pairs

from .material import prepare_variants

NOUNS = {"dog": "Hund", "house": "Haus", "tree": "Baum", "car": "Auto", "book": "Buch", "river": "Fluss"}
VERBS = {"see": "sehe", "like": "mag", "need": "brauche", "paint": "male"}
LINES = [
    (f"I {verb} the {noun} of {name}.", f"Ich {VERBS[verb]} das {NOUNS[noun]} von {name}.")
    for verb in VERBS
    for noun in NOUNS
    for name in ("Tom", "Mary")
]


def test_cooccurring_words_are_translations():
    known = NOUNS | VERBS | {"Tom": "Tom", "Mary": "Mary"}
    found = find_words(LINES)
    assert {word: found.get(word) for word in known} == known
    # Words that occur in every pair may match nothing, but never one of these.
    assert {found.get(word) for word in ("I", "the", "of")} <= {None, "Ich", "das", "von"}


def test_a_word_is_capitalised_only_if_always_so():
    lines = [(f"{noun} is good.".capitalize(), f"{NOUNS[noun]} ist gut.") for noun in NOUNS for _ in range(3)]
    found = find_words(LINES + lines)
    assert found["dog"] == "Hund"
    assert "Dog" not in found


def test_a_one_word_sentence_takes_its_most_frequent_translation():
    sentences = [
        *[("Goodbye!", "Auf Wiedersehen!"), ("Goodbye.", "Auf Wiedersehen."), ("Goodbye.", "Tschüss!")],
        *[("Dog!", "Ein Hund!"), ("See!", "Sehe ich das, Tom?"), ("Tree!", "Da ist der Baum.")],
    ]
    found = find_words([*LINES, *sentences, ("We say goodbye.", "Wir gehen auf und ab.")])
    assert (found["goodbye"], found["dog"]) == ("auf Wiedersehen", "Ein Hund")
    assert (found["see"], found["tree"]) == ("sehe", "Baum")  # several phrases, or too long


def test_of_equally_frequent_translations_the_shortest_is_taken():
    assert find_words([("Hi.", "Grüß Gott!"), ("Hi.", "Hallo!"), ("Hi.", "Sei mir gegrüßt!")]) == {"Hi": "Hallo"}


def test_a_one_word_name_keeps_its_capital():
    place = [(f"I {verb} Nice.", f"Ich {VERBS[verb]} Nizza.") for verb in VERBS]
    found = find_words([*LINES, *place, *[("Is it nice?", "Geht es?")] * 9, ("Nice.", "Nizza.")])
    assert found["Nice"] == "Nizza"
    assert "nice" not in found


@pytest.mark.parametrize("lines", [[], LINES[:2], [("...", "?!")]])
def test_too_little_text_gives_no_words(lines):
    assert find_words(lines) == {}


def test_only_short_sentences_are_counted():
    assert short_pairs([("I see the dog.", "Ich sehe den Hund.")])
    assert not short_pairs([("I see the dog.", "wort " * 13)])
    assert not short_pairs([("wort " * 13, "Ich sehe den Hund.")])
    assert not short_pairs([("...", "Ich sehe den Hund.")])


def test_single_words_are_drawn_uniformly():
    lexicon = NOUNS | {"Tom": "Tom", "12": "12", "lachen": "laugh", "Hallo": "hello"}
    draw = SingleWords(lexicon, np.random.default_rng(1))
    drawn = Counter(draw() for _ in range(3000))
    # No names or numbers; a capitalised word does not capitalise its translation.
    small = [("dog", "Hund"), ("lachen", "laugh")]
    capital = [("Dog", "Hund"), ("Lachen", "Laugh")]
    assert {*small, *capital, ("Hallo", "hello")} <= drawn.keys()
    assert len(drawn) == 2 * (len(NOUNS) + 1) + 1
    for one, other in zip(small, capital, strict=True):
        assert 0.6 < drawn[one] / drawn[other] < 1.7
    assert 0.6 < drawn["Hallo", "hello"] / (drawn[small[0]] + drawn[capital[0]]) < 1.7


@pytest.mark.parametrize("lexicon", [{}, {"Tom": "Tom"}])
def test_nothing_is_drawn_from_an_empty_lexicon(lexicon):
    assert SingleWords(lexicon, np.random.default_rng(1))() is None


def test_a_dataset_has_single_words_from_all_corpora(tmp_path):
    long = [(f"{source} " * 4, f"{target} " * 4) for source, target in LINES]  # too long to learn from
    corpora = {"short": LINES, "long": [(f"{source}{i}", f"{target}{i}") for i, (source, target) in enumerate(long)]}
    dataset = prepare_variants(tmp_path, corpora, words=1.0)
    known = set((NOUNS | VERBS).items())
    for shard in dataset.shards("train"):
        store = dataset.store(shard)
        alone = [
            tuple(dataset.tokenizer("target").decode([side.tolist() for side in store[i]]))
            for i in range(len(LINES), len(store))
        ]
        assert len(alone) == len(LINES)
        small = {(source.lower(), target) for source, target in alone}
        assert {pair for pair in known if pair[1] in NOUNS.values()} <= small  # verbs are lowercase on both sides
        assert {source for source, _ in small} - (NOUNS | VERBS).keys() <= {"i", "the", "of"}
        assert 0.2 * len(alone) < sum(source[0].isupper() for source, _ in alone) < 0.8 * len(alone)
    assert dataset.report.total.augmented == {"words": 2 * len(LINES)}
