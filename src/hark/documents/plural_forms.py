"""Plural forms of languages, as GNU gettext states them, and numbers that stand for each form."""

from gettext import c2py

_TWO = "nplurals=2; plural=(n != 1);"
_SLAVIC = "n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2"
_FORMS = {
    **dict.fromkeys("ja ko zh vi th id ms lo my km".split(), "nplurals=1; plural=0;"),  # noqa: SIM905
    **dict.fromkeys(
        "en de nl sv da nb nn no fi et hu el it es pt ca gl eu he bg sq sw af ka kk mn az ur bn ta te ml mr ne".split(),  # noqa: SIM905
        _TWO,
    ),
    **dict.fromkeys(("fr", "pt-br", "tr", "fa", "hi", "hy"), "nplurals=2; plural=(n > 1);"),
    **dict.fromkeys(("ru", "uk", "be", "sr", "hr", "bs"), f"nplurals=3; plural=({_SLAVIC});"),
    **dict.fromkeys(("cs", "sk"), "nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;"),
    "pl": "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2);",
    "lt": "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<12 || n%100>19) ? 1 : 2);",
    "lv": "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2);",
    "ro": "nplurals=3; plural=(n==1 ? 0 : (n==0 || (n%100 > 0 && n%100 < 20)) ? 1 : 2);",
    "sl": "nplurals=4; plural=(n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3);",
    "ar": "nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5);",
    "ga": "nplurals=5; plural=(n==1 ? 0 : n==2 ? 1 : n<7 ? 2 : n<11 ? 3 : 4);",
    "cy": "nplurals=4; plural=(n==1) ? 0 : (n==2) ? 1 : (n != 8 && n != 11) ? 2 : 3;",
}


def plural_rule(language: str) -> str:
    """The Plural-Forms header of a language; empty if it is not known."""
    code = language.lower().replace("_", "-")
    return _FORMS.get(code) or _FORMS.get(code.split("-")[0], "")


def numbers_by_form(count: int, rule: str) -> list[list[int]]:
    """For each plural form, the numbers below 300 that take it; `rule` is an expression in C."""
    forms: list[list[int]] = [[] for _ in range(count)]
    try:
        choose = c2py(rule)
        for number in range(300):
            forms[choose(number)].append(number)
    except (ValueError, IndexError, RecursionError, ZeroDivisionError):
        return [[1], *([*range(2, 300)] for _ in range(count - 1))]
    return forms
