"""Language codes of other programs, such as `fra_Latn` or `fr_XX`, as hark's: `fr`."""

from collections.abc import Iterable

from hark.config import is_language_code
from hark.errors import UserError

Languages = tuple[tuple[str, ...], tuple[str, ...]]
"""Source and target codes given by the user; empty: those in the model's files."""
CODES = """
aar:aa abk:ab afr:af aka:ak amh:am ara:ar arb:ar arg:an asm:as ava:av aym:ay aze:az azj:az bak:ba bam:bm bel:be
ben:bn bis:bi bod:bo bos:bs bre:br bul:bg cat:ca ces:cs cha:ch che:ce chv:cv cmn:zh cor:kw cos:co cre:cr cym:cy
dan:da deu:de div:dv dzo:dz ell:el eng:en epo:eo est:et ekk:et eus:eu ewe:ee fao:fo fas:fa pes:fa fij:fj fin:fi
fra:fr fry:fy ful:ff fuv:ff gla:gd gle:ga glg:gl glv:gv grn:gn guj:gu hat:ht hau:ha hbs:sh heb:he her:hz hin:hi
hmo:ho hrv:hr hun:hu hye:hy ibo:ig ido:io iii:ii iku:iu ile:ie ina:ia ind:id isl:is ita:it jav:jv jpn:ja kal:kl
kan:kn kas:ks kat:ka kau:kr kaz:kk khm:km kik:ki kin:rw kir:ky kom:kv kon:kg kor:ko kua:kj kur:ku kmr:ku lao:lo
lat:la lav:lv lvs:lv lim:li lin:ln lit:lt ltz:lb lub:lu lug:lg mah:mh mal:ml mar:mr mkd:mk mlg:mg plt:mg mlt:mt
mon:mn khk:mn mri:mi msa:ms zsm:ms mya:my nau:na nav:nv nbl:nr nde:nd ndo:ng nep:ne npi:ne nld:nl nno:nn nob:nb
nor:no nya:ny oci:oc oji:oj ori:or ory:or orm:om gaz:om oss:os pan:pa pli:pi pol:pl por:pt pus:ps pbt:ps que:qu
quy:qu roh:rm ron:ro run:rn rus:ru sag:sg san:sa sin:si slk:sk slv:sl sme:se smo:sm sna:sn snd:sd som:so sot:st
spa:es sqi:sq als:sq srd:sc srp:sr ssw:ss sun:su swa:sw swh:sw swe:sv tah:ty tam:ta tat:tt tel:te tgk:tg tgl:tl
tha:th tir:ti ton:to tsn:tn tso:ts tuk:tk tur:tr twi:tw uig:ug ukr:uk urd:ur uzb:uz uzn:uz ven:ve vie:vi vol:vo
wln:wa wol:wo xho:xh yid:yi ydd:yi yor:yo zha:za zho:zh zul:zu
"""
TWO_LETTERS: dict[str, str] = dict(each.split(":", 1) for each in CODES.split())
"""ISO 639-3 codes, also of individual languages that models use for a macrolanguage, and their 639-1 codes."""
SAME = {"zt": "zh", "pb": "pt", "nb": "no", "nn": "no", "iw": "he"}
"""Codes of Argos and older ones for what others write as a region or with another code."""
NO_REGION = "XX"
"""mBART's suffix of a language without a region."""


def shortened(code: str) -> tuple[str, str]:
    """The base language of a code, in two letters if it has such a code, and its script or region."""
    base, _, rest = code.replace("-", "_").partition("_")
    return TWO_LETTERS.get(base, base), "" if rest == NO_REGION else rest.replace("_", "-")


def hark_codes(codes: Iterable[str]) -> dict[str, str]:
    """Map each code to hark's, with script or region only where the base language is not unique."""
    codes = list(codes)
    bases = [shortened(code)[0] for code in codes]
    found: dict[str, str] = {}
    for code, base in zip(codes, bases, strict=True):
        rest = shortened(code)[1]
        for candidate in (base if bases.count(base) == 1 or not rest else f"{base}-{rest}", code.replace("_", "-")):
            if candidate not in found.values():
                found[code] = candidate
                break
    return found


def refuse_others(given: Languages, known: Languages, where: object) -> None:
    """Refuse languages that contradict those in a model's files. Names of groups, such as `mul`, contradict nothing."""
    for option, wanted, there in zip(("-s", "-t"), given, known, strict=True):
        bases = {_comparable(code) for code in there}
        if not bases or any(len(base) != 2 for base in bases):
            continue
        for code in wanted:
            if _comparable(code) not in bases:
                pairs = " to ".join(",".join(side) for side in known)
                raise UserError(f"{where}: translates {pairs}, so that {option} {code} is wrong; leave out -s and -t")


def _comparable(code: str) -> str:
    base = shortened(code)[0].lower()
    return SAME.get(base, base)


def languages_of(text: str, option: str) -> tuple[str, ...]:
    """The language codes in an option such as `-s en,fr`."""
    codes = tuple(each.strip() for each in text.split(",") if each.strip())
    for code in codes:
        if not is_language_code(code):
            raise UserError(f"{option} {text}: {code!r} is not a language code such as en or pt-BR")
    return codes
