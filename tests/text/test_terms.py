"""Terms of a glossary are found as whole words, in any case, the longest first."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.text.protect import find, find_terms
from hark.text.terms import Terms, is_inflected

TERMS = Terms(
    [("battery", "Akku"), ("battery pack", "Akkupack"), ("mail", "Post"), (".NET", "Punktnetz"), ("Straße", "street")]
)


def found(text: str, terms: Terms = TERMS) -> list[tuple[str, str]]:
    return [(text[slice(*span)], target) for span, target in terms.find(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The battery, the BATTERY; Battery!", [("battery", "Akku"), ("BATTERY", "Akku"), ("Battery", "Akku")]),
        ("a battery pack", [("battery pack", "Akkupack")]),
        ("a Battery\n  Pack's", [("Battery\n  Pack", "Akkupack")]),
        ("batteries, rebattery, battery2, e-mail, mail-order", []),
        ("mail - battery", [("mail", "Post"), ("battery", "Akku")]),
        ("We use .net here", [(".net", "Punktnetz")]),
        ("STRASSE und Straße", [("STRASSE", "street"), ("Straße", "street")]),
        ("", []),
    ],
)
def test_find(text: str, expected: list[tuple[str, str]]) -> None:
    assert found(text) == expected


def test_equal_terms_are_one_key() -> None:
    one, same = Terms([("a", "b"), ("c", "d")]), Terms([("c", "d"), ("a", "b")])
    assert one == same
    assert hash(one) == hash(same)
    assert one != Terms([("a", "x"), ("c", "d")])
    assert not Terms([])
    assert not Terms([("  ", "x")])  # no words: it would match everywhere


def test_terms_that_are_kept_are_found_in_this_very_case() -> None:
    terms = Terms([("apple", "Apfel"), ("word", "Wort")], kept=["Apple", "Word for  Windows", "IT"])
    text = "Apple sells an apple, Word for Windows is no word. IT is it."
    assert found(text, terms) == [
        ("Apple", "Apple"),
        ("apple", "Apfel"),
        ("Word for Windows", "Word for Windows"),
        ("word", "Wort"),
        ("IT", "IT"),
    ]
    assert terms != Terms(terms.entries)
    assert Terms([], ["a"])


@pytest.mark.parametrize(
    ("words", "term", "expected"),
    [
        ("Rechnung", "Rechnung", True),
        ("rechnungen", "Rechnung", True),
        ("Rechnungsbetrag", "Rechnung", False),
        ("Akkus", "Akku", True),
        ("ITs", "IT", False),
        ("Rechnung.2", "Rechnung", False),
        ("Rechn", "Rechnung", False),
    ],
)
def test_inflected(words: str, term: str, expected: bool) -> None:
    assert is_inflected(words, term) is expected


def no_unknown(_: str) -> str:
    return ""


def test_a_term_replaces_items_inside_it_but_does_not_cut_an_address() -> None:
    terms = Terms([("iPhone 2014", "iPhone alt"), ("example", "Beispiel")])
    items = find("My iPhone 2014 is at www.example.com, for example.", no_unknown, "en", "de", terms)
    assert [(item.text, item.kind, item.written) for item in items] == [
        ("iPhone 2014", "term", "iPhone alt"),
        ("www.example.com", "address", ""),
        ("example", "term", "Beispiel"),
    ]


@pytest.mark.parametrize(("text", "leading"), [("Mail it", "A b"), ("mail it", "a b")])
def test_a_term_that_comes_first_gets_the_capital_of_the_sentence(text: str, leading: str) -> None:
    [item] = find_terms(text, Terms([("mail", "a b")]))
    assert (item.written, item.leading) == ("a b", leading)


def test_a_name_that_is_kept_gets_no_capital() -> None:
    [item] = find_terms("All use iPhone", Terms([], ["iPhone"]))
    assert item.leading == "iPhone"


@given(st.text(), st.dictionaries(st.text(min_size=1, max_size=4), st.text(max_size=4), max_size=5))
def test_spans_are_in_order_and_inside_the_text(text: str, entries: dict[str, str]) -> None:
    terms = Terms(entries.items())
    spans = [span for span, _ in terms.find(text)]
    assert spans == sorted(spans)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
