"""Names and codes of languages."""

import pytest

from hark.text.detector import base_language
from hark.text.language_names import (
    is_right_to_left,
    language_name,
    languages,
    read_language,
    unknown_name,
    with_region,
)


@pytest.mark.parametrize(
    ("named", "code"),
    [
        ("german", "de"), ("Deutsch", "de"), ("DEU", "de"), ("ger", "de"), ("De", "de"), (" french ", "fr"),
        ("FRANÇAIS", "fr"), ("castellano", "es"), ("日本語", "ja"), ("Norwegian Bokmål", "nb"), ("ελληνικά", "el"),
        ("dutch", "nl"), ("nederlands", "nl"), ("por", "pt"), ("pt-BR", "pt-BR"), ("deu_Latn", "deu_Latn"),
        ("germna", "germna"), ("", ""),
    ],
)  # fmt: skip
def test_codes_and_names_in_english_and_in_the_language(named: str, code: str) -> None:
    assert read_language(named) == code


def test_no_name_or_code_means_two_languages() -> None:
    for each in languages().values():
        for name in (each.code, *each.longer, each.english, *each.native):
            assert read_language(name) == each.code


def test_typos() -> None:
    assert unknown_name("germna") == "no language 'germna'; did you mean german?"
    assert unknown_name("itallian").endswith("did you mean italian?")
    assert unknown_name("Klingon") == "no language 'Klingon'; see hark models"
    assert unknown_name("xx") == unknown_name("pt-XX") == unknown_name("eng_Latn") == ""  # a model may have such a code


def test_names_for_lists() -> None:
    assert [language_name(code) for code in ("de", "nb", "pt-BR", "deu", "tlh")] == [
        "German", "Norwegian Bokmål", "Portuguese (BR)", "German", "tlh",
    ]  # fmt: skip


def test_long_codes_have_the_same_base() -> None:
    assert [base_language(code) for code in ("deu", "deu_Latn", "ger", "cmn", "zho-Hans", "nob")] == [
        "de", "de", "de", "zh", "zh", "no",
    ]  # fmt: skip


def test_regions() -> None:
    assert with_region("de") == "de-DE"
    assert with_region("DE") == "de-DE"
    assert with_region("pt-BR") == "pt-BR"
    assert with_region("pt_BR") == "pt-BR"
    assert with_region("eo") == "eo"


def test_directions() -> None:
    assert is_right_to_left("ar")
    assert is_right_to_left("he-IL")
    assert not is_right_to_left("de")
    assert not is_right_to_left("hr")
    assert is_right_to_left("pa-Arab")
    assert is_right_to_left("az_Arab_IR")
    assert not is_right_to_left("ar-Latn")
