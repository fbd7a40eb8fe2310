"""Formal and informal address."""

import pytest

from hark.text.address import find_address


@pytest.mark.parametrize(
    ("source", "target", "languages", "address"),
    [
        ("Could you help me?", "Könnten Sie mir helfen?", ("en", "de"), "formal"),
        ("Could you help me?", "Könntest du mir helfen?", ("en", "de"), "informal"),
        ("They can help you.", "Sie können dir helfen.", ("en", "de"), "informal"),
        ("They help.", "Sie helfen.", ("en", "de"), None),
        ("Where is your coat?", "Où est ton manteau ?", ("en", "fr"), "informal"),
        ("Könnten Sie mir helfen?", "Pouvez-vous m'aider ?", ("de", "fr"), "formal"),
        ("Is this yours?", "¿Esto es suyo, o es de usted?", ("en", "es"), "formal"),
        ("I will call you.", "La chiamerò; posso contattarLa?", ("en", "it"), "formal"),
        ("You and he", "u en jij", ("en", "nl"), None),
        ("Kun je me helpen?", "Could you help me?", ("nl", "en"), None),
    ],
)
def test_address(source: str, target: str, languages: tuple[str, str], address: str | None) -> None:
    assert find_address(source, target, languages) == address
