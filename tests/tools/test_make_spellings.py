"""Which words of a corpus go to the lists of umlauts and doubled letters."""

from tools.make_spellings import Words, doubled


def test_words_of_a_corpus() -> None:
    words = Words()
    words.read([("The street is long for Müller.", "Die Straße ist lang für Müller.")] * 30)
    words.read([("The mass and the measures, he must.", "Die Masse und die Maße, er muß.")] * 30)
    words.read([("Rare.", "Selten schön.")] * 4)
    words.read([("A daemon.", "Ein Dämon.")] * 30)
    words.read([("Be a bee, a good one.", "Sei eine Biene, eine gute.")] * 20)
    words.read([("Be.", "Sei.")] * 20_000)
    assert set(words.umlauts()) == {"Straße", "für"}
    assert set(doubled(words.english)) == {"street", "müller", "mass", "good"}
