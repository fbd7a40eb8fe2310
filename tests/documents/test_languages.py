"""Languages have a usual region and a direction."""

from hark.documents.languages import is_right_to_left, with_region


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
