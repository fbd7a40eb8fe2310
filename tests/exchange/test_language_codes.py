"""Language codes of other programs."""

import pytest

from hark.errors import UserError
from hark.exchange.language_codes import hark_codes, languages_of, shortened


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("fra_Latn", ("fr", "Latn")),
        ("fr_XX", ("fr", "")),
        ("pt_BR", ("pt", "BR")),
        ("eng", ("en", "")),
        ("ace_Arab", ("ace", "Arab")),
        ("cmn_Hans", ("zh", "Hans")),
    ],
)
def test_shortened(code: str, expected: tuple[str, str]) -> None:
    assert shortened(code) == expected


def test_scripts_and_regions_only_where_needed() -> None:
    codes = ["fra_Latn", "zho_Hans", "zho_Hant", "por", "por_BR", "cmn", "zho"]
    assert hark_codes(codes) == {
        "fra_Latn": "fr", "zho_Hans": "zh-Hans", "zho_Hant": "zh-Hant", "por": "pt", "por_BR": "pt-BR", "cmn": "zh",
        "zho": "zho",
    }  # fmt: skip


def test_options() -> None:
    assert languages_of("en, pt-BR", "-s") == ("en", "pt-BR")
    assert languages_of("", "-s") == ()
    with pytest.raises(UserError, match=r"-s a/b: 'a/b' is not a language code"):
        languages_of("a/b", "-s")
