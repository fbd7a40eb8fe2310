"""Portuguese number conventions, of Brazil and of Portugal."""

from decimal import Decimal

from hark.text.numerals.conventions import Numerals, table, words

_HUNDREDS = words("duzent trezent quatrocent quinhent seiscent setecent oitocent novecent")

PORTUGUESE = Numerals(
    decimal=",",
    thousands=".",
    percent="%",
    currency="{amount} {sign}",
    ordinal=".º",
    ordinal_suffixes=frozenset(words("º ª o a")),
    units=words(
        "zero um|uma dois|duas três quatro cinco seis sete oito nove dez onze doze treze catorze|quatorze quinze "
        "dezesseis|dezasseis dezessete|dezassete dezoito dezenove|dezanove"
    ),
    tens=words("vinte trinta quarenta cinquenta sessenta setenta oitenta noventa"),
    links="e",
    aliases=table(*((100 * n, f"{stem}os {stem}as") for n, stem in enumerate(_HUNDREDS, start=2))),
    scales=table(
        (10, "dezena dezenas década décadas"),
        (12, "dúzia dúzias"),
        (15, "quinzena"),
        (100, "cem cento centenas centena"),
        (1000, "mil milhar milhares"),
        (10**6, "milhão milhões"),
        (10**9, "bilhão bilhões"),
        (10**12, "trilhão trilhões bilião biliões"),
    )
    | {"mil milhões": 10**9},
    magnitudes=table((1000, "mil k"), (10**6, "milhões milhão mi M"), (10**9, "bilhões bilhão bi")),
    ordinals=table(
        (1, "primeiro primeira"),
        (2, "segundo segunda"),
        (3, "terceiro terceira"),
        (5, "quinto quinta"),
        (6, "sexto sexta"),
        (7, "sétimo sétima"),
        (8, "oitavo oitava"),
        (9, "nono nona"),
        (10, "décimo décima"),
        (20, "vigésimo vigésima"),
        (30, "trigésimo trigésima"),
        (100, "centésimo centésima"),
    ),
    fractions=table((Decimal("0.5"), "meio meia metade"), (Decimal("0.25"), "quarto quartos")),
    implied=table(
        (0, "nenhum nenhuma meia-noite"),
        (1, "um uma cada único única diário diária semanal mensal anual"),
        (2, "ambos ambas duplo dupla dobro par casal"),
        (3, "triplo"),
        (4, "quarto quarta"),
        (7, "semana semanas"),
        (12, "meio-dia meia-noite"),
        (100, "século séculos"),
    ),
    implied_phrases=(
        (r"meia hora", 30),
        (r"(?<!três )quartos? de hora", 15),
        (r"três quartos de hora", 45),
        (r"hora e meia", 90),
        (r"meio[ -]dia|meia[ -]noite", 12),
        (r"semestre|meio ano", 6),
        (r"ano e meio", 18),
        (r"(?:duas|2) semanas|(?:quinze|15) dias|quinzena", 14),
        (r"(?:quinze|15) dias", 2),  # weeks
    ),
    months=words(
        "janeiro|jan fevereiro|fev março|mar abril|abr maio|mai junho|jun julho|jul agosto|ago setembro|set "
        "outubro|out novembro|nov dezembro|dez"
    ),
    capital_months=False,
)
