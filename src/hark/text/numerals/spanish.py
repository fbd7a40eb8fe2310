"""Spanish number conventions."""

from decimal import Decimal

from hark.text.numerals.conventions import Numerals, table, words

_HUNDREDS = words("doscient trescient cuatrocient quinient seiscient setecient ochocient novecient")

SPANISH = Numerals(
    decimal=",",
    thousands=".",
    percent="\u00a0%",
    currency="{amount} {sign}",
    ordinal=".º",
    ordinal_suffixes=frozenset(words("º ª o a er")),
    units=words(
        "cero uno|un|una|ún dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
        "dieciséis|dieciseis diecisiete dieciocho diecinueve"
    ),
    tens=words("veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa"),
    links="y",
    aliases=table(
        (21, "veintiuno veintiún veintiun veintiuna"),
        (22, "veintidós veintidos"),
        (23, "veintitrés veintitres"),
        (24, "veinticuatro"),
        (25, "veinticinco"),
        (26, "veintiséis veintiseis"),
        *zip(range(27, 30), words("veintisiete veintiocho veintinueve"), strict=True),
        *((100 * n, f"{stem}os {stem}as") for n, stem in enumerate(_HUNDREDS, start=2)),
    ),
    scales=table(
        (10, "decena decenas década décadas"),
        (12, "docena docenas"),
        (15, "quincena"),
        (20, "veintena"),
        (100, "cien ciento cientos centenar centenares"),
        (1000, "mil miles millar millares"),
        (10**6, "millón millones"),
        (10**12, "billón billones"),
    )
    | {"mil millones": 10**9},
    magnitudes=table((1000, "mil k"), (10**6, "millones millón M mill.")),
    ordinals=table(
        (1, "primero primera primer"),
        (2, "segundo segunda"),
        (3, "tercero tercera tercer"),
        (5, "quinto quinta"),
        (6, "sexto sexta"),
        (7, "séptimo séptima"),
        (8, "octavo octava"),
        (9, "noveno novena"),
        (10, "décimo décima"),
        (11, "undécimo undécima"),
        (12, "duodécimo duodécima"),
        (20, "vigésimo vigésima"),
        (30, "trigésimo trigésima"),
        (100, "centésimo centésima"),
    ),
    fractions=table((Decimal("0.5"), "medio media mitad"), (Decimal("0.25"), "cuarto cuartos")),
    implied=table(
        (0, "ningún ninguno ninguna medianoche"),
        (1, "un una uno cada único única diario diaria semanal mensual anual"),
        (2, "ambos ambas doble dobles par pareja"),
        (3, "triple"),
        (4, "cuarto cuarta"),
        (7, "semana semanas"),
        (12, "mediodía medianoche"),
        (100, "siglo siglos"),
    ),
    implied_phrases=(
        (r"media hora", 30),
        (r"(?<!tres )cuartos? de hora", 15),
        (r"tres cuartos de hora", 45),
        (r"hora y media", 90),
        (r"semestre|medio año", 6),
        (r"año y medio", 18),
        (r"(?:dos|2) semanas|(?:quince|15) días|quincena", 14),
        (r"(?:quince|15) días", 2),  # weeks
    ),
    months=words(
        "enero|ene febrero|feb marzo|mar abril|abr mayo junio|jun julio|jul agosto|ago septiembre|setiembre|sep|sept "
        "octubre|oct noviembre|nov diciembre|dic"
    ),
    capital_months=False,
)
