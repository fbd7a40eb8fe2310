"""Number conventions by language: separators, number words, scales, ordinals, months. Data only.

Each language is one `Numerals`. English and German are complete; the others have separators and basic number words. A
language without an entry is treated as English.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

Amount = int | Decimal


def _table(*groups: tuple[Amount, str]) -> Mapping[str, Amount]:
    """Build a mapping from words to values."""
    return {word: value for value, words in groups for word in words.split()}


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


@dataclass(frozen=True)
class Numerals:
    """Number conventions of one language. Words are in lower case; `|` separates spellings of one number."""

    decimal: str
    thousands: str
    percent: str
    """The percent sign after a figure, with its space."""
    currency: str
    """The position of the currency {sign}."""
    ordinal: str
    """Suffix that makes a figure an ordinal; English has others for 1, 2 and 3."""
    ordinal_suffixes: frozenset[str]
    """All ordinal suffixes that are letters."""
    units: tuple[str, ...]
    """Zero to nineteen."""
    tens: tuple[str, ...]
    """Twenty to ninety."""
    fused: tuple[str, ...] = ()
    """Patterns that fuse a unit and a ten into one word, if any; {cut} is the ten without its last letter."""
    aliases: Mapping[str, Amount] = field(default_factory=dict)
    """Alternative words for cardinals: German zwo."""
    links: str = ""
    """Words between the parts of a number: `and` in "a hundred and ten"."""
    scales: Mapping[str, Amount] = field(default_factory=dict)
    """Words that multiply the figure or word before them. May be part of a longer word if `fused`."""
    magnitudes: Mapping[str, Amount] = field(default_factory=dict)
    """Multipliers between an amount of money and its sign: `m` in £3.5m. The first of a value is used for writing."""
    ordinals: Mapping[str, Amount] = field(default_factory=dict)
    ordinal_stems: tuple[str, str] | None = None
    """Suffixes that turn a cardinal into an ordinal stem, below twenty and from twenty; `ordinals` has exceptions."""
    inflections: str = ""
    """Inflections of a stem, as a regular expression."""
    fractions: Mapping[str, Amount] = field(default_factory=dict)
    """Number words that are not cardinals: half, twice."""
    implied: Mapping[str, Amount] = field(default_factory=dict)
    """Words that may translate a figure but are not number words: a, both, noon."""
    implied_phrases: tuple[tuple[str, Amount], ...] = ()
    """The same for several words, as regular expressions: half an hour is 30 minutes."""
    endings: str = ""
    """What may follow a number word within a compound, as a regular expression: German zehn-jährig, drei-fach."""
    months: tuple[str, ...] = ()


ENGLISH = Numerals(
    decimal=".",
    thousands=",",
    percent="%",
    currency="{sign}{amount}",
    ordinal="th",
    ordinal_suffixes=frozenset(_words("st nd rd th")),
    units=_words(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen"
    ),
    tens=_words("twenty thirty forty|fourty fifty sixty seventy eighty ninety"),
    aliases=_table((0, "nil nought")),
    links="and",
    scales=_table(
        (10, "decade decades"),
        (12, "dozen dozens"),
        (100, "hundred hundreds"),
        (1000, "thousand thousands"),
        (10**6, "million millions mio"),
        (10**9, "billion billions bn"),
        (10**12, "trillion trillions"),
    ),
    magnitudes=_table(
        (1000, "k K thousand"), (10**6, "m M mn mio million"), (10**9, "bn b B billion"), (10**12, "tn trillion")
    ),
    ordinals=_table(
        *enumerate(
            _words(
                "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
                "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
            )
        ),
        *zip(
            range(20, 100, 10),
            _words("twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth"),
            strict=True,
        ),
        (100, "hundredth"),
        (1000, "thousandth"),
        *zip(
            range(20, 100, 10),
            _words("twenties thirties forties fifties sixties seventies eighties nineties"),
            strict=True,
        ),
    ),
    fractions=_table((Decimal("0.5"), "half halves"), (Decimal("0.25"), "quarter quarters"), (1, "once"), (2, "twice")),
    implied=_table(
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

GERMAN = Numerals(
    decimal=",",
    thousands=".",
    percent=" %",
    currency="{amount} {sign}",
    ordinal=".",
    ordinal_suffixes=frozenset(_words("te ten ter tes tem ste sten ster stes stem")),
    units=_words(
        "null eins|ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
        "siebzehn achtzehn neunzehn"
    ),
    tens=_words("zwanzig dreißig|dreissig vierzig fünfzig sechzig siebzig achtzig neunzig"),
    fused=("{unit}und{ten}",),
    links="und",
    scales=_table(
        (10, "jahrzehnt jahrzehnts jahrzehnte jahrzehnten"),
        (12, "dutzend dutzende dutzenden"),
        (100, "hundert hunderte hunderten hunderter"),
        (1000, "tausend tausende tausenden tausender tsd"),
        (10**6, "million millionen mio"),
        (10**9, "milliarde milliarden mrd md"),
        (10**12, "billion billionen bio"),
    ),
    magnitudes=_table(
        (1000, "Tsd. tausend"),
        (10**6, "Mio. Mio Million Millionen"),
        (10**9, "Mrd. Mrd Milliarde Milliarden"),
        (10**12, "Bio. Billion Billionen"),
    ),
    ordinals=_table((1, "erst"), (3, "dritt"), (7, "siebt"), (8, "acht")),
    ordinal_stems=("t", "st"),
    inflections="e[nmrs]?|ens|el[ns]?",
    fractions=_table(
        (Decimal("0.5"), "halb halbe halber halbes halben halbem hälfte"),
        (Decimal("0.25"), "viertel"),
        (Decimal("0.75"), "dreiviertel"),
    ),
    implied=_table(
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
    aliases=_table(
        (2, "zwo"),
        (Decimal("1.5"), "anderthalb eineinhalb"),
        *(
            (n + Decimal("0.5"), f"{word}einhalb")
            for n, word in enumerate(_words("zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"), start=2)
        ),
    ),
)

FRENCH = Numerals(
    decimal=",",
    thousands="\u202f",
    percent="\u00a0%",
    currency="{amount}\u00a0{sign}",
    ordinal="e",
    ordinal_suffixes=frozenset(_words("e er ère re ème")),
    units=_words(
        "zéro un|une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept "
        "dix-huit dix-neuf"
    ),
    tens=_words(
        "vingt trente quarante cinquante soixante soixante-dix|septante "
        "quatre-vingt|quatre-vingts|huitante quatre-vingt-dix|nonante"
    ),
    links="et",
    scales=_table(
        (12, "douzaine douzaines"),
        (100, "cent cents centaine centaines"),
        (1000, "mille millier milliers"),
        (10**6, "million millions"),
        (10**9, "milliard milliards"),
    ),
    fractions=_table((Decimal("0.5"), "demi demie moitié"), (Decimal("0.25"), "quart")),
    implied=_table((1, "un une")),
    months=_words("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
)

SPANISH = Numerals(
    decimal=",",
    thousands=".",
    percent="\u00a0%",
    currency="{amount} {sign}",
    ordinal=".º",
    ordinal_suffixes=frozenset(_words("º ª o a er")),
    units=_words(
        "cero uno|un|una dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis "
        "diecisiete dieciocho diecinueve"
    ),
    tens=_words("veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa"),
    links="y",
    aliases=_table(
        *enumerate(_words("veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis"), start=21),
        *enumerate(_words("veintisiete veintiocho veintinueve"), start=27),
    ),
    scales=_table(
        (12, "docena docenas"),
        (100, "cien ciento cientos"),
        (1000, "mil miles"),
        (10**6, "millón millones"),
        (10**12, "billón billones"),
    ),
    fractions=_table((Decimal("0.5"), "medio media mitad"), (Decimal("0.25"), "cuarto")),
    implied=_table((1, "un una uno")),
    months=_words("enero febrero marzo abril mayo junio julio agosto septiembre|setiembre octubre noviembre diciembre"),
)

ITALIAN = Numerals(
    decimal=",",
    thousands=".",
    percent="%",
    currency="{amount} {sign}",
    ordinal="º",
    ordinal_suffixes=frozenset(_words("º ª")),
    units=_words(
        "zero uno|un|una due tre|tré quattro cinque sei sette otto nove dieci undici dodici tredici quattordici "
        "quindici sedici diciassette diciotto diciannove"
    ),
    tens=_words("venti trenta quaranta cinquanta sessanta settanta ottanta novanta"),
    fused=("{ten}{unit}", "{cut}{unit}"),
    links="e",
    scales=_table(
        (12, "dozzina dozzine"),
        (100, "cento"),
        (1000, "mille mila"),
        (10**6, "milione milioni"),
        (10**9, "miliardo miliardi"),
    ),
    fractions=_table((Decimal("0.5"), "mezzo mezza metà"), (Decimal("0.25"), "quarto")),
    implied=_table((1, "un una uno")),
    months=_words("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"),
)

DUTCH = Numerals(
    decimal=",",
    thousands=".",
    percent="%",
    currency="{sign} {amount}",
    ordinal="e",
    ordinal_suffixes=frozenset(_words("e de ste")),
    units=_words(
        "nul een|één twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien "
        "zeventien achttien negentien"
    ),
    tens=_words("twintig dertig veertig vijftig zestig zeventig tachtig negentig"),
    fused=("{unit}en{ten}", "{unit}ën{ten}"),
    links="en",
    scales=_table(
        (12, "dozijn"),
        (100, "honderd honderden"),
        (1000, "duizend duizenden"),
        (10**6, "miljoen miljoenen"),
        (10**9, "miljard miljarden"),
    ),
    fractions=_table((Decimal("0.5"), "half halve helft"), (Decimal("0.25"), "kwart")),
    implied=_table((1, "een")),
    months=_words("januari februari maart april mei juni juli augustus september oktober november december"),
)

PORTUGUESE = Numerals(
    decimal=",",
    thousands=".",
    percent="%",
    currency="{amount} {sign}",
    ordinal=".º",
    ordinal_suffixes=frozenset(_words("º ª o a")),
    units=_words(
        "zero um|uma dois|duas três quatro cinco seis sete oito nove dez onze doze treze catorze|quatorze quinze "
        "dezesseis|dezasseis dezessete|dezassete dezoito dezenove|dezanove"
    ),
    tens=_words("vinte trinta quarenta cinquenta sessenta setenta oitenta noventa"),
    links="e",
    scales=_table(
        (12, "dúzia dúzias"),
        (100, "cem cento centenas"),
        (1000, "mil milhares"),
        (10**6, "milhão milhões"),
        (10**9, "bilhão bilhões"),
    ),
    fractions=_table((Decimal("0.5"), "meio meia metade"), (Decimal("0.25"), "quarto")),
    implied=_table((1, "um uma")),
    months=_words("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"),
)

NUMERALS: Mapping[str, Numerals] = {
    "en": ENGLISH,
    "de": GERMAN,
    "fr": FRENCH,
    "es": SPANISH,
    "it": ITALIAN,
    "nl": DUTCH,
    "pt": PORTUGUESE,
}


def numerals_of(language: str) -> Numerals:
    """Return the entry of a language code, with or without a region (`de-AT`); English if there is none."""
    return NUMERALS.get(language) or NUMERALS.get(language.split("-")[0].lower(), ENGLISH)
