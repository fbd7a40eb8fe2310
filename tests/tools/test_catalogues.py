"""Messages of catalogues become clean pairs: marks, contexts and tags go, and what does not fit together is dropped."""

import struct
from pathlib import Path

import polib
import pytest
from tools.catalogues import Tidy, read_catalogue


@pytest.fixture(scope="module")
def tidy() -> Tidy:
    return Tidy("it")


def test_catalogues_are_read_as_polib_writes_them(tmp_path: Path) -> None:
    catalogue = polib.POFile()
    catalogue.metadata = {"Content-Type": "text/plain; charset=ISO-8859-1"}
    catalogue.encoding = "iso-8859-1"
    catalogue.append(polib.POEntry(msgid="City", msgstr="Città"))
    catalogue.append(polib.POEntry(msgctxt="menu", msgid="Open", msgstr="Apri"))
    catalogue.append(
        polib.POEntry(msgid="%d file", msgid_plural="%d files", msgstr_plural={0: "%d documento", 1: "%d documenti"})
    )
    catalogue.append(polib.POEntry(msgid="Guess", msgstr="Indovina", flags=["fuzzy"]))
    catalogue.save_as_mofile(str(tmp_path / "it.mo"))
    assert sorted(read_catalogue((tmp_path / "it.mo").read_bytes())) == [
        ("%d file", "%d documento"),
        ("%d files", "%d documenti"),
        ("City", "Città"),
        ("Open", "Apri"),
    ]


def test_a_catalogue_may_have_the_other_byte_order() -> None:
    texts = b"Open\0Apri\0"
    data = struct.pack(">7I", 0x950412DE, 0, 1, 28, 36, 0, 0) + struct.pack(">4I", 4, 44, 4, 49) + texts
    assert list(read_catalogue(data)) == [("Open", "Apri")]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no catalogue, but some text that is long enough",
        struct.pack("<7I", 0x950412DE, 0, 1, 28, 36, 0, 0),
        struct.pack("<7I", 0x950412DE, 0, 1, 28, 36, 0, 0) + struct.pack("<4I", 4, 44, 400, 49),
    ],
)
def test_a_damaged_catalogue_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match="catalogue"):
        list(read_catalogue(data))


@pytest.mark.parametrize(
    ("english", "italian", "pairs"),
    [
        ("_Open", "_Apri", [("Open", "Apri")]),
        ("Thro_ugh", "Attra_verso", [("Through", "Attraverso")]),
        ("Di_vision", "Di_visione", [("Division", "Divisione")]),
        ("&Save As...", "S&alva con nome...", [("Save As...", "Salva con nome...")]),
        ("~Paste", "Incolla", [("Paste", "Incolla")]),
        ("Cut && Paste", "Taglia && incolla", [("Cut & Paste", "Taglia & incolla")]),
        ("Toggle ^Rejected", "^Rifiuta o autorizza", [("Toggle Rejected", "Rifiuta o autorizza")]),
        ("Zoo_m", "Zoo_ma", [("Zoom", "Zooma")]),
        (
            "A value of type time_t",
            "Un valore di tipo time_t",
            [("A value of type time_t", "Un valore di tipo time_t")],
        ),
        ("Budget for ~a", "Bilancio per ~a", [("Budget for ~a", "Bilancio per ~a")]),
        ("Set user_name first", "Imposta prima user_name", [("Set user_name first", "Imposta prima user_name")]),
        ("Made by AT&T", "Fatto da AT&T", [("Made by AT&T", "Fatto da AT&T")]),
        ("Tom &amp; Jerry again", "Ancora Tom &amp; Jerry", [("Tom & Jerry again", "Ancora Tom & Jerry")]),
    ],
)
def test_marks_of_shortcuts_go_from_both_sides(tidy: Tidy, english: str, italian: str, pairs: list) -> None:
    assert tidy(english, italian) == pairs


@pytest.mark.parametrize(
    ("english", "italian"),
    [("menu|Open", "Apri"), ("menu|Open", "menu|Apri"), ("_: a verb\nOpen", "Apri"), ("a long context||Open", "Apri")],
)
def test_contexts_in_the_text_go(tidy: Tidy, english: str, italian: str) -> None:
    assert tidy(english, italian) == [("Open", "Apri")]


def test_alternatives_are_no_context(tidy: Tidy) -> None:
    assert tidy("red|green", "rosso|verde") == [("red|green", "rosso|verde")]


def test_tags_go_where_both_sides_have_them(tidy: Tidy) -> None:
    assert tidy("<b>Warning</b>", "<b>Attenzione</b>") == [("Warning", "Attenzione")]
    assert tidy("<p>First</p><p>Second</p>", "<p>Primo</p><p>Secondo</p>") == [
        ("First", "Primo"),
        ("Second", "Secondo"),
    ]
    assert tidy("Open <file>", "Apri <file>") == [("Open <file>", "Apri <file>")]
    assert tidy("A <b>bold</b> word", "Una parola <i>forte</i>") == []


def test_some_messages_keep_their_tags(tidy: Tidy) -> None:
    kept = 0
    for number in range(200):
        ((english, italian),) = tidy(f"The <b>bold</b> word {number}", f"La parola <b>grossa</b> {number}")
        assert (english, italian) in (
            (f"The <b>bold</b> word {number}", f"La parola <b>grossa</b> {number}"),
            (f"The bold word {number}", f"La parola grossa {number}"),
        )
        kept += "<b>" in english
    assert 10 < kept < 60


def test_paragraphs_and_sentences_are_split_where_both_sides_have_as_many(tidy: Tidy) -> None:
    assert tidy("One.\n\nTwo.", "Uno.\n\nDue.") == [("One.", "Uno."), ("Two.", "Due.")]
    assert tidy("One.\n\nTwo.", "Uno. Due.") == []
    assert tidy("A line that is\nbroken.", "Una riga che è\nspezzata.") == [
        ("A line that is broken.", "Una riga che è spezzata.")
    ]
    assert tidy("The file exists. Replace it?", "Il file esiste. Sostituirlo?") == [
        ("The file exists.", "Il file esiste."),
        ("Replace it?", "Sostituirlo?"),
    ]
    assert tidy("The file %s exists. Replace it?", "Il file esiste. Sostituire %s?") == [
        ("The file %s exists. Replace it?", "Il file esiste. Sostituire %s?")
    ]  # as a whole, it has its placeholder


@pytest.mark.parametrize(
    ("english", "italian"),
    [
        ("Copying %s to %s", "Copia di %s"),
        ("Welcome to %PRODUCTNAME", "Benvenuto in %NOMEPRODOTTO"),
        ("Hello {name}", "Ciao {nome}"),
        ("Use --force", "Usa --forza"),
        ("Page 12", "Pagina 21"),
        ("Email", "Email"),
        ("Untranslated", ""),
        ("translator-credits", "Mario Rossi"),
        ("Your names", "Mario Rossi"),
        ("config.default.path", "percorso predefinito"),
        ("%d %%", "%d %%"),
        ("Usage:\n  -a  all files\n  -b  no files", "Uso:\n  -a  tutti i file\n  -b  nessun file"),
        ("Alpha letters", "Lettere αβγ"),
        ("before-date|", "prima di"),
        ("folder;manager;disk;", "cartella;gestore;disco;file;"),
        ("Save", "Sal&va"),
        ("RADIANS(75) equals 1.308", "RADIANS(75) è uguale a 1.308"),
        (
            "A file",
            "Un file che ha un nome molto ma molto più lungo di quanto serva per essere una traduzione di quello",
        ),
        ("word " * 121, "parola " * 121),
        ("This sentence was not translated", "This sentence has not been translated at all"),
        ("The file is _here or __there", "Il file è qui o là"),
    ],
)
def test_what_does_not_fit_together_is_dropped(tidy: Tidy, english: str, italian: str) -> None:
    assert tidy(english, italian) == []


def test_text_is_normalised(tidy: Tidy) -> None:
    assert tidy("Quality \u00a0mode", "Qualita\u0300\u200b alta") == [("Quality mode", "Qualità alta")]


def test_full_stops_follow_the_english(tidy: Tidy) -> None:
    assert tidy("Delete the old layer", "Elimina il livello vecchio.") == [
        ("Delete the old layer", "Elimina il livello vecchio")
    ]
    assert tidy("The old layer was deleted.", "Il livello vecchio è stato eliminato") == [
        ("The old layer was deleted.", "Il livello vecchio è stato eliminato.")
    ]
    assert tidy("Paper, pens and so on", "Carta, penne ecc.") == [("Paper, pens and so on", "Carta, penne ecc.")]
    assert tidy("Loading old layers...", "Carico i livelli vecchi") == [
        ("Loading old layers...", "Carico i livelli vecchi")
    ]
