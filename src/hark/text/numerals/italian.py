"""Italian number conventions."""

from decimal import Decimal

from hark.text.numerals.conventions import Numerals, table, words

_UNITS = words(
    "zero uno|un|una|un' due tre|tré quattro cinque sei sette otto nove dieci undici dodici tredici quattordici "
    "quindici sedici diciassette diciotto diciannove"
)
_TENS = words("venti trenta quaranta cinquanta sessanta settanta ottanta novanta")
_VOWELS = "oaie"


def _ordinals(value: int, word: str) -> tuple[int, str]:
    """The ordinals of a cardinal from eleven: ventesimo, ventitreesima."""
    stem = word if word.endswith(("tre", "sei")) and value > 20 else word[:-1]
    return value, " ".join(f"{stem}esim{vowel}" for vowel in _VOWELS)


ITALIAN = Numerals(
    decimal=",",
    thousands=".",
    percent="%",
    currency="{amount} {sign}",
    ordinal="º",
    ordinal_suffixes=frozenset(words("º ª")),
    units=_UNITS,
    tens=_TENS,
    fused=("{ten}{unit}", "{cut}{unit}"),
    elision=("centott", "centoott"),
    links="e",
    scales=table(
        (10, "decina decine decennio decenni"),
        (12, "dozzina dozzine"),
        (15, "quindicina"),
        (20, "ventina"),
        (100, "cento centinaio centinaia"),
        (1000, "mille mila migliaio migliaia"),
        (10**6, "milione milioni"),
        (10**9, "miliardo miliardi"),
    ),
    magnitudes=table((1000, "mila k"), (10**6, "mln milioni milione"), (10**9, "mld miliardi miliardo")),
    ordinals=table(
        *(
            (value, " ".join(stem + vowel for vowel in _VOWELS))
            for value, stem in enumerate(words("prim second terz quart quint sest settim ottav non decim"), start=1)
            if value not in (4, 9)  # a quarter; "none" and "noni" are rare
        ),
        (9, "nono nona"),
        *(_ordinals(value, _UNITS[value]) for value in range(11, 20)),
        *(_ordinals(10 * n, ten) for n, ten in enumerate(_TENS, start=2)),
        *(
            _ordinals(10 * n + unit, (ten[:-1] if unit in (1, 8) else ten) + _UNITS[unit].split("|")[0])
            for n, ten in enumerate(_TENS, start=2)
            for unit in range(1, 10)
        ),
        (100, "centesimo centesima"),
        (1000, "millesimo millesima"),
    ),
    fractions=table((Decimal("0.5"), "mezzo mezza metà"), (Decimal("0.25"), "quarto quarti")),
    implied=table(
        (0, "nessun nessuno nessuna mezzanotte"),
        (1, "un una uno ogni unico unica singolo singola giornaliero settimanale mensile annuale"),
        (2, "entrambi entrambe ambedue doppio doppia paio coppia"),
        (3, "triplo"),
        (4, "quarto quarta"),
        (7, "settimana settimane"),
        (12, "mezzogiorno mezzanotte"),
        (100, "secolo secoli"),
    ),
    implied_phrases=(
        (r"mezz['’]ora|mezza ora", 30),
        (r"(?<!tre )quart[oi] d['’]ora", 15),
        (r"tre quarti d['’]ora", 45),
        (r"ora e mezz[ao]", 90),
        (r"semestre|mezzo anno|sei mesi", 6),
        (r"anno e mezzo", 18),
        (r"(?:due|2) settimane|(?:quindici|15) giorni", 14),
        (r"(?:quindici|15) giorni", 2),  # weeks
    ),
    months=words(
        "gennaio|gen febbraio|feb marzo|mar aprile|apr maggio|mag giugno|giu luglio|lug agosto|ago settembre|set|sett "
        "ottobre|ott novembre|nov dicembre|dic"
    ),
    capital_months=False,
)
