"""Dutch number conventions."""

from decimal import Decimal

from hark.text.numerals.conventions import Numerals, table, words

DUTCH = Numerals(
    decimal=",",
    thousands=".",
    percent="%",
    currency="{sign} {amount}",
    ordinal="e",
    ordinal_suffixes=frozenset(words("e de ste")),
    units=words(
        "nul een|één twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien "
        "zeventien achttien negentien"
    ),
    tens=words("twintig dertig veertig vijftig zestig zeventig tachtig negentig"),
    fused=("{unit}en{ten}", "{unit}ën{ten}"),
    aliases=table(
        (Decimal("1.5"), "anderhalf anderhalve"),
        *(
            (n + Decimal("0.5"), f"{word}enhalf {word}enhalve {word}ënhalf {word}ënhalve")
            for n, word in enumerate(words("twee drie vier vijf zes zeven acht negen tien"), start=2)
        ),
    ),
    links="en",
    scales=table(
        (10, "tiental tientallen decennium decennia"),
        (12, "dozijn dozijnen"),
        (100, "honderd honderden"),
        (1000, "duizend duizenden"),
        (10**6, "miljoen miljoenen mln"),
        (10**9, "miljard miljarden mld"),
        (10**12, "biljoen biljoenen"),
    ),
    magnitudes=table(
        (1000, "duizend k"), (10**6, "miljoen mln mln."), (10**9, "miljard mld mld."), (10**12, "biljoen")
    ),
    ordinals=table((1, "eerst"), (3, "derd"), (8, "achtst")),
    ordinal_stems=("d", "st"),
    inflections="en?|es",
    fractions=table((Decimal("0.5"), "half halve helft"), (Decimal("0.25"), "kwart")),
    implied=table(
        (0, "geen middernacht"),
        (1, "een elk elke ieder iedere per enkel enkele dagelijks wekelijks maandelijks jaarlijks"),
        (2, "beide beiden allebei dubbel dubbele paar koppel"),
        (3, "driedubbel drievoudig"),
        (7, "week weken"),
        (12, "middernacht"),
        (100, "eeuw eeuwen"),
    ),
    implied_phrases=(
        (r"half ?uur", 30),
        (r"(?<!drie )kwartier", 15),
        (r"drie kwartier", 45),
        (r"anderhalf uur", 90),
        (r"half ?jaar|halfjaarlijks", 6),
        (r"anderhalf jaar", 18),
        (r"(?:twee|2) weken|veertien dagen", 14),
        (r"12 uur 's middags|noen", 12),
    ),
    endings="jar|jaar|daag|maand|uur|wek|minu|seconde|voud|maal|tal|deel|deur|person|persoon|kamer|hoek|poot|sterren|er",
    months=words(
        "januari|jan februari|feb maart|mrt april|apr mei juni|jun juli|jul augustus|aug september|sep|sept "
        "oktober|okt november|nov december|dec"
    ),
    capital_months=False,
)
