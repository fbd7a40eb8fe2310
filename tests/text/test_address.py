"""Formal and informal address."""

import pytest

from hark.text.address import Address, addresses, choose_address, contradicts


@pytest.mark.parametrize(
    ("sentence", "language", "expected"),
    [
        ("Is this yours?", "en", True),
        ("Please close the door.", "en", True),
        ("Then add two eggs.", "en", True),
        ("Don't worry.", "en", True),
        ("Calls are free.", "en", False),
        ("The train leaves at nine.", "en", False),
        ("Das gehört dir.", "de", True),
        ("Sie lesen.", "de", False),
        ("Ouvrez la porte.", "fr", True),
        ("Il est chez lui.", "fr", False),
        ("¿Puede enviarme la factura?", "es", True),
        ("El tren sale a las nueve.", "es", False),
        ("Tiene la lengua afilada.", "es", False),
        ("Ha perso il treno dopo sei mesi.", "it", False),
        ("Può aiutarmi?", "it", True),
        ("Pode conter vestígios de ovo.", "pt", False),
        ("Wacht even, alstublieft.", "nl", True),
        ("Você viu?", "pt-BR", True),
        ("Du ser huset.", "sv", False),
        ("Wer ist das?", "und", False),
    ],
)
def test_sentences_that_address_somebody(sentence: str, language: str, expected: bool) -> None:
    assert addresses(sentence, language) == expected


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Can you help me? The train leaves at nine.", "en", None),
        ("Can you help me? Send me the invoice.", "en", "formal"),
        ("Dear Mr Brown, can you help me? Send me your invoice. Kind regards, Anna", "en", "formal"),
        ("Hi Tom,\ncan you help me?\nCall me when you can.", "en", "informal"),
        ("Dear Marta,\nThank you for the scarf. Did you knit it yourself?\nA big hug, Julia", "en", "informal"),
        ("Dear Customer,\nThank you for your order. You will get it soon.", "en", "formal"),
        ("Hi John,\nyou asked for it. Please call me.\nKind regards,\nSue Smith", "en", "formal"),
        ("Are you gonna come? Can you bring beer?", "en", "informal"),
        ("Can you come? \U0001f600 I miss you.", "en", "informal"),
        ("Love is what you need. You know it.", "en", "formal"),
        ("Wie geht es dir? Hast du Zeit? Ich sehe, dass Sie lesen.", "de", "informal"),
        ("Ich danke Ihnen. Können Sie kommen? Das ist deins, du weißt es.", "de", "formal"),
        ("¿Puedes venir? ¿Tienes tiempo?", "es", "informal"),
        ("¿Puede venir? ¿Tiene tiempo?", "es", "formal"),
        ("Se puede ver. Hay tiempo.", "es", None),
        ("", "en", None),
        ("Kan du se? Har du tid?", "da", None),
    ],
)
def test_one_form_for_a_text(text: str, language: str, expected: Address | None) -> None:
    assert choose_address(text, language) == expected


def test_the_other_form() -> None:
    assert contradicts("Wie geht es dir?", "formal", "de")
    assert not contradicts("Wie geht es dir?", "informal", "de")
    assert not contradicts("Wie geht es dir?", None, "de")
    assert not contradicts("Wie geht's?", "formal", "de")
    assert not contradicts("Können Sie dir helfen?", "formal", "de")
    assert not contradicts("How are you?", "formal", "en")
