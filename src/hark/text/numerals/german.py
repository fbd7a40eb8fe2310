"""German number conventions."""

from decimal import Decimal

from hark.text.numerals.conventions import Numerals, table, words

GERMAN = Numerals(
    decimal=",",
    thousands=".",
    percent=" %",
    currency="{amount} {sign}",
    ordinal=".",
    ordinal_suffixes=frozenset(words("te ten ter tes tem ste sten ster stes stem")),
    units=words(
        "null eins|ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
        "siebzehn achtzehn neunzehn"
    ),
    tens=words("zwanzig dreißig|dreissig vierzig fünfzig sechzig siebzig achtzig neunzig"),
    fused=("{unit}und{ten}",),
    links="und",
    scales=table(
        (10, "jahrzehnt jahrzehnts jahrzehnte jahrzehnten"),
        (12, "dutzend dutzende dutzenden"),
        (100, "hundert hunderte hunderten hunderter"),
        (1000, "tausend tausende tausenden tausender tsd"),
        (10**6, "million millionen mio"),
        (10**9, "milliarde milliarden mrd md"),
        (10**12, "billion billionen bio"),
    ),
    magnitudes=table(
        (1000, "Tsd. tausend"),
        (10**6, "Mio. Mio Million Millionen"),
        (10**9, "Mrd. Mrd Milliarde Milliarden"),
        (10**12, "Bio. Billion Billionen"),
    ),
    ordinals=table((1, "erst"), (3, "dritt"), (7, "siebt"), (8, "acht")),
    ordinal_stems=("t", "st"),
    inflections="e[nmrs]?|ens|el[ns]?",
    fractions=table(
        (Decimal("0.5"), "halb halbe halber halbes halben halbem hälfte"),
        (Decimal("0.25"), "viertel"),
        (Decimal("0.75"), "dreiviertel"),
    ),
    implied=table(
        (0, "kein keine keinen keiner keines mitternacht"),
        (
            1,
            "ein eine einen einem einer eines je pro jede jeder jedes jeden einzige einziger einziges einzigen",
        ),
        (2, "beide beiden beides beider paar doppelt doppelte doppelten zweit"),
        (3, "dritt"),
        (7, "woche wochen"),
        (12, "mittag mittags mitternacht"),
        (100, "jahrhundert jahrhunderts jahrhunderte jahrhunderten"),
    ),
    implied_phrases=(
        (r"halb(?:en?|r)? ?stund|halbstünd", 30),
        (r"(?<!drei)(?<!drei )viertel ?stunde", 15),
        (r"drei ?viertel ?stunde", 45),
        (r"(?:anderthalb|eineinhalb) ?st[uü]nd", 90),
        (r"halb(?:es|en) jahr|halbjahr|halbjähr", 6),
        (r"(?:anderthalb|eineinhalb) jahr", 18),
        (r"(?:zwei|2) wochen", 14),
        (r"achtelfinal", 16),
        (r"kohlendioxid|\bdoppel", 2),
        (r"\bzweit\w", 2),
        (r"\bdritt\w", 3),
    ),
    endings=(
        "jähr|jahr|tägig|tage|monat|stünd|stund|woch|wöch|minüt|minut|sekund|sekünd|mal|fach|er|teil|köpf|seit|stell|stöck|"
        "zimmer|klass|eck|bein|sprach|zeil|spalt|türig|sitz|bett|gang|punkt|prozent|pfund|meter|äugig|kampf|stuf|gleis|"
        "yen|euro|dollar|bänd|silb|akt|dimension|stern|rad|räd|fuß|füß|zyl|würf|kern|phas|pol|bit|millionen|gestirn|einhalb|hundertst"
    ),
    months=(
        "januar|jan|jänner",
        "februar|feb|feber",
        "märz|mär",
        "april|apr",
        "mai",
        "juni|jun|juno",
        "juli|jul",
        "august|aug",
        "september|sep|sept",
        "oktober|okt",
        "november|nov",
        "dezember|dez",
    ),
    aliases=table(
        (2, "zwo"),
        (Decimal("1.5"), "anderthalb eineinhalb"),
        *(
            (n + Decimal("0.5"), f"{word}einhalb")
            for n, word in enumerate(words("zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"), start=2)
        ),
    ),
)
