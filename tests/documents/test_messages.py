"""Messages: placeholders are found and checked, and identifiers told from language."""

import pytest

from hark.documents.messages import find_placeholders, is_identifier, keeps_placeholders, read_message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello %s, %d%% of %1$@", ["%s", "%d", "%%", "%1$@"]),
        ("%(name)s and %5.2f", ["%(name)s", "%5.2f"]),
        ("{name} {0} {{ x }} ${user} #{y}", ["{name}", "{0}", "{{ x }}", "${user}", "#{y}"]),
        ("%d個 and %dpx", ["%d", "%d"]),
        ("100 % of it, 5% off", []),
        ("no placeholders", []),
    ],
)
def test_placeholders(text: str, expected: list[str]) -> None:
    assert find_placeholders(text) == expected


def test_placeholders_are_counted() -> None:
    assert keeps_placeholders("%s of %s in {x}", "{x}: %s von %s")
    assert not keeps_placeholders("%s of %s", "%s")
    assert not keeps_placeholders("of", "%s")
    assert not keeps_placeholders("{name}", "{Name}")


@pytest.mark.parametrize(
    "text",
    [
        *("my_key", "fooBar", "a.b.c", "arrow-left", "#ff0000", "https://example.org", "me@example.org", "/etc/hosts"),
        *("img/logo.png", "2024-01-02T10:00:00Z", "12,50", "A4B7", "one/two/three", "~/x", "std::string", "___", ""),
        "0f8fad5b-d9cb-469f-a165-70867728950e",
    ],
)
def test_identifiers(text: str) -> None:
    assert is_identifier(text)


@pytest.mark.parametrize(
    "text",
    [
        "Save",
        "save",
        "Name:",
        "Yes/No",
        "e.g.",
        "E-mail",
        "Are you sure?",
        "...more",
        "Größe",
        "שלום",
        "日本語",
        "It's",
    ],
)
def test_language(text: str) -> None:
    assert not is_identifier(text)


def test_choices_stay_intact() -> None:
    choice = "{n, plural, =0 {no files} one {# file in {folder}} other {# files}}"
    assert not read_message(choice).translatable
    message = read_message(f"  You have {choice}.\n")
    assert message.text == "You have {{x1}}."
    assert message.fill("{{x1}} haben Sie.", []) == f"  {choice} haben Sie.\n"
    assert message.fill("Sie haben.", []) is None
    assert message.fill(message.text, []) == message.raw
    assert read_message("{n, plural, one {# file").text == "{n, plural, one {# file"


def test_tags() -> None:
    message = read_message("Click <b>here</b><br> now")
    assert message.tagged
    assert message.text == "Click here now"
    assert message.fill("HIER JETZT KLICKEN", []) is not None
