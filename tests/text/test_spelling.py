"""Spelling correction: what is corrected, what is left alone, and how positions map."""

import pytest

from hark.text.spelling import tidy
from hark.text.spelling.german import transliterate, umlauts


def tidied(text: str, language: str) -> str:
    rewriting = tidy(text, language)
    return rewriting.after if rewriting else text


@pytest.mark.parametrize(
    ("typed", "right"),
    [
        ("i dont know what u mean", "I don't know what you mean"),
        ("Dont do that, im busy.", "Don't do that, I'm busy."),
        ("DONT PANIC, IM HERE", "DON'T PANIC, I'M HERE"),
        ("youre right... theyre here", "you're right... they're here"),
        ("i'm sure i've seen it and i'll go", "I'm sure I've seen it and I'll go"),
        ("You and i", "You and I"),
        ("lets go home", "let's go home"),
        ("Ill be back, id like that", "I'll be back, I'd like that"),
        ("its a pity", "it's a pity"),
        ("don´t you know? isn`t it? I don’t.", "don't you know? isn't it? I don't."),
        ("Tom`s at 5 o’clock", "Tom's at 5 o'clock"),
        ("Thx, pls tell ppl", "Thanks, please tell people"),
        ("r u ok? ur welcome, ur dog too", "are you ok? you're welcome, your dog too"),
        ('Thats (whats that?) "wont work"', "That's (what's that?) \"won't work\""),
        ("It is sooooo coooool!!!!", "It is so cool!!!!"),
        ("Hellooo, pleeease, reallyyy, offff", "Hello, please, really, off"),
        ("SOOO COOOL", "SO COOL"),
        ("i doooont know", "I don't know"),
    ],
)
def test_english(typed: str, right: str) -> None:
    assert tidied(typed, "en") == tidied(typed, "en-GB") == right


@pytest.mark.parametrize(
    "text",
    [
        "Its roof was ill, were well, shell and hell.",
        "She lets me go, as is his wont. He was wont to. The cant of the clergy.",
        "I saw Jony Ive, his IM client and the PPL.",
        "(i) the first, i.e. this, section i, i) that, ii) more",
        "the u.s. and u-boats, press u to undo, d and u commands, display i more lines, if i is",
        "Joan i Maria, O’Brien, d’Artagnan",
        "World War III in XXXL, www, mmm, hmmm, sssd, pppconfig, CCCP, YYYYMMDD, xxxhdpi, wwwrun",
        "its A350 and id 5",
        "a/dont/b dont.com @dont #dont dont_x %u",
        "Wait... what?! --- !!!!",
        "Nothing is wrong here, isn't it?",
        "Same note applies as for u.",
        "Complex numbers are a+b*i, where a and b are real numbers and i = sqrt(-1).",
        "",
    ],
)
def test_english_left_alone(text: str) -> None:
    assert tidy(text, "en") is None


@pytest.mark.parametrize(
    ("typed", "right"),
    [
        ("Das ist schoen fuer mich.", "Das ist schön für mich."),
        ("Die Strasse ist gross, ich weiss.", "Die Straße ist groß, ich weiß."),
        ("Grosse Freude! Ueber den Waeldern", "Große Freude! Über den Wäldern"),
        ("Das Oel: Aepfel - Koenntest du", "Das Öl: Äpfel - Könntest du"),
        ("UEBER DIE STRASSE, FUER ALLE", "ÜBER DIE STRASSE, FÜR ALLE"),
        ("Liebe Grüsse", "Liebe Grüße"),  # Swiss spelling
        ("liebe gruesse", "liebe grüße"),
        ("strasse", "straße"),
        ("Hochgeschwindigkeitszuege und Hauptbahnhoefe", "Hochgeschwindigkeitszüge und Hauptbahnhöfe"),
        ("Neueroeffnung, Buechertauschbewegung", "Neueröffnung, Büchertauschbewegung"),
        ("Wie geht´s? Gibt’s was?", "Wie geht's? Gibt's was?"),
        ("vllt iwie", "vielleicht irgendwie"),
        ("Das ist sooooo süüüß, jaaa, gaaaanz tolllll, weisss", "Das ist so süß, ja, ganz toll, weiß"),
    ],
)
def test_german(typed: str, right: str) -> None:
    assert tidied(typed, "de") == tidied(typed, "de-AT") == right


@pytest.mark.parametrize(
    "text",
    [
        "Das neue Feuer ist aktuell in Israel; Michael muss dauernd wissen, dass die Masse Busse hat.",
        "Goethe und Mueller, Manuel, Joel, Poesie, Statue, Duell, Boeing",
        "Herr Weiss, Frau Schaefer und Dr. Schoen",
        "Das war Herrn Grosse und Karl Weiss bei Hoechst wichtig.",
        "Schifffahrt, Missstand, Seeelefant, Flussschiff, Tequilajazzz",
        "Insassen aussenden, Trassen, der Daemon, Pik-Ass, Verkehrstrassen, Body Mass Index, Tetraeder",
        "STRASSE",
        "muenchen.de und /fuer/alle",
        "Maße, Buße, Straße",
        "Ist adresslaenge negativ, wird groesse nicht benutzt.",  # identifiers
        "Geschrieben von Bryan Henderson und Harald Koenig.",
    ],
)
def test_german_left_alone(text: str) -> None:
    assert tidy(text, "de") is None


def test_other_languages_are_unchanged() -> None:
    assert tidy("dont fuer sooooo", "fr") is None


def test_kept_spans_are_unchanged() -> None:
    text = "type `dont` if you dont"
    rewriting = tidy(text, "en", keep=[(5, 11)])
    assert rewriting is not None
    assert rewriting.after == "type `dont` if you don't"
    assert tidy("fuer", "de", keep=[(1, 2)]) is None


def test_positions_map_to_the_typed_text() -> None:
    rewriting = tidy("i dont see fuer", "en")
    assert rewriting is not None
    assert rewriting.after == "I don't see fuer"
    assert rewriting.back((2, 7)) == (2, 6)
    assert rewriting.forth((7, 10)) == (8, 11)
    assert len(rewriting.edits) == 2


def test_tidy_is_idempotent() -> None:
    for text, language in [("i doooont knoooow what u want, did i", "en"), ("Gruesse aus Koeln, fuerrrr alle", "de")]:
        assert tidy(tidied(text, language), language) is None


def test_umlaut_word_list() -> None:
    words = umlauts()
    assert len(words) > 15_000
    for typed, word in words.items():
        small = word.lower()
        assert typed in (transliterate(small), small.replace("ß", "ss"))
        assert typed != small
    assert {"fuer", "schoen", "gruesse", "grüsse", "strasse"} <= words.keys()
    # Other words, spellings from before 1996, names, English.
    assert not {"masse", "busse", "muss", "mussten", "prozess", "mueller", "daemon", "neue", "dass"} & words.keys()
    assert (words["fuer"], words["strasse"]) == ("für", "Straße")
