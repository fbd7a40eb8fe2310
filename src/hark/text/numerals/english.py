"""English number conventions."""

from decimal import Decimal

from hark.text.numerals.conventions import Numerals, table, words

ENGLISH = Numerals(
    decimal=".",
    thousands=",",
    percent="%",
    currency="{sign}{amount}",
    ordinal="th",
    ordinal_suffixes=frozenset(words("st nd rd th")),
    units=words(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen"
    ),
    tens=words("twenty thirty forty|fourty fifty sixty seventy eighty ninety"),
    aliases=table((0, "nil nought")),
    links="and",
    scales=table(
        (10, "decade decades"),
        (12, "dozen dozens"),
        (100, "hundred hundreds"),
        (1000, "thousand thousands"),
        (10**6, "million millions mio"),
        (10**9, "billion billions bn"),
        (10**12, "trillion trillions"),
    )
    | {"thousand million": 10**9},
    magnitudes=table(
        (1000, "k K thousand"), (10**6, "m M mn mio million"), (10**9, "bn b B billion"), (10**12, "tn trillion")
    ),
    ordinals=table(
        *enumerate(
            words(
                "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
                "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
            )
        ),
        *zip(
            range(20, 100, 10),
            words("twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth"),
            strict=True,
        ),
        (100, "hundredth"),
        (1000, "thousandth"),
        *zip(
            range(20, 100, 10),
            words("twenties thirties forties fifties sixties seventies eighties nineties"),
            strict=True,
        ),
    ),
    fractions=table((Decimal("0.5"), "half halves"), (Decimal("0.25"), "quarter quarters"), (1, "once"), (2, "twice")),
    implied=table(
        (0, "no none null midnight"),
        (1, "a an per each every single another firstly hourly daily weekly monthly yearly annually"),
        (2, "both pair couple double secondly biennial"),
        (3, "triple thirdly treble"),
        (4, "quadruple"),
        (7, "week weeks"),
        (12, "noon midnight midday"),
        (14, "fortnight"),
        (100, "century centuries"),
    ),
    implied_phrases=(
        (r"half[ -](?:an )?hour", 30),
        (r"(?<!quarters of an )quarter[ -](?:of an )?hour", 15),
        (r"three[ -]quarters of an hour", 45),
        (r"hour and a half|(?:one and a half|1\.5) hours", 90),
        (r"half (?:a )?year|half-year", 6),
        (r"year and a half", 18),
        (r"(?:two|2) weeks", 14),
        (r"non-?zero", 0),
        (r"\bcarbon\b", 2),  # CO2
    ),
    endings="fold|some|pence|penny|teen",
    months=(
        "january|jan",
        "february|feb",
        "march|mar",
        "april|apr",
        "may",
        "june|jun",
        "july|jul",
        "august|aug",
        "september|sep|sept",
        "october|oct",
        "november|nov",
        "december|dec",
    ),
)
