"""French number conventions."""

from decimal import Decimal

from hark.text.numerals.conventions import Numerals, table, words

FRENCH = Numerals(
    decimal=",",
    thousands="\u202f",
    percent="\u00a0%",
    currency="{amount}\u00a0{sign}",
    ordinal="e",
    ordinal_suffixes=frozenset(words("e er ère re ème")),
    units=words(
        "zéro un|une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept "
        "dix-huit dix-neuf"
    ),
    tens=words(
        "vingt trente quarante cinquante soixante soixante-dix|septante "
        "quatre-vingt|quatre-vingts|huitante|octante quatre-vingt-dix|nonante"
    ),
    links="et",
    scales=table(
        (10, "dizaine dizaines décennie décennies"),
        (12, "douzaine douzaines"),
        (15, "quinzaine quinzaines"),
        (20, "vingtaine"),
        (30, "trentaine"),
        (40, "quarantaine"),
        (50, "cinquantaine"),
        (60, "soixantaine"),
        (100, "cent cents centaine centaines"),
        (1000, "mille mil millier milliers"),
        (10**6, "million millions"),
        (10**9, "milliard milliards"),
        (10**12, "billion billions"),
    ),
    magnitudes=table(
        (1000, "mille k"), (10**6, "millions million M"), (10**9, "milliards milliard Md Mds"), (10**12, "billions")
    ),
    ordinals=table(
        (1, "premier première premiers premières unième"),
        (2, "second seconde deuxième"),
        *zip(
            range(3, 20),
            words(
                "troisième quatrième cinquième sixième septième huitième neuvième dixième onzième douzième treizième "
                "quatorzième quinzième seizième dix-septième dix-huitième dix-neuvième"
            ),
            strict=True,
        ),
        *zip(range(20, 70, 10), words("vingtième trentième quarantième cinquantième soixantième"), strict=True),
        (100, "centième"),
        (1000, "millième"),
    ),
    fractions=table((Decimal("0.5"), "demi demie demis demies moitié"), (Decimal("0.25"), "quart quarts")),
    implied=table(
        (0, "aucun aucune nul nulle minuit"),
        (1, "un une chaque par seul seule unique quotidien quotidienne hebdomadaire mensuel mensuelle annuel annuelle"),
        (2, "double doubles paire couple bis"),
        (3, "triple"),
        (4, "quadruple"),
        (7, "semaine semaines"),
        (12, "midi minuit"),
        (100, "siècle siècles"),
    ),
    implied_phrases=(
        (r"demi-heure", 30),
        (r"(?<!trois )quart d['’]heure", 15),
        (r"trois quarts d['’]heure", 45),
        (r"(?:une )?heure et demie", 90),
        (r"semestre|demi-année", 6),
        (r"\ban et demi", 18),
        (r"(?:deux|2) semaines|(?:quinze|15) jours|quinzaine", 14),
        (r"(?:quinze|15) jours", 2),  # weeks
        (r"(?:huit|8) jours", 7),
    ),
    months=words(
        "janvier|janv février|févr|fév mars avril|avr mai juin juillet|juil août|aout septembre|sept octobre|oct "
        "novembre|nov décembre|déc"
    ),
    capital_months=False,
)
