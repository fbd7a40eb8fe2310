"""Language codes of other programs, such as `fra_Latn` or `fr_XX`, as hark's: `fr`; and how M2M100, NLLB and mBART-50
number pieces and languages, as fairseq did."""

from collections import Counter
from collections.abc import Iterable, Sequence

import sentencepiece

from hark.config import is_language_code
from hark.errors import UserError
from hark.text.detector import base_language
from hark.text.language_names import longer_codes

Languages = tuple[tuple[str, ...], tuple[str, ...]]
"""Source and target codes given by the user; empty: those in the model's files."""
CODES = """
aar:aa abk:ab aka:ak arb:ar arg:an asm:as ava:av aym:ay azj:az bak:ba bam:bm bis:bi bod:bo bre:br cha:ch che:ce
chv:cv cmn:zh cor:kw cos:co cre:cr div:dv dzo:dz ekk:et ewe:ee fao:fo pes:fa fij:fj fry:fy ful:ff fuv:ff gla:gd
glv:gv grn:gn hat:ht hau:ha hbs:sh her:hz hmo:ho ibo:ig ido:io iii:ii iku:iu ile:ie ina:ia jav:jv kal:kl kas:ks
kau:kr kik:ki kin:rw kom:kv kon:kg kua:kj kur:ku kmr:ku lvs:lv lim:li lin:ln lub:lu lug:lg mah:mh mlg:mg plt:mg
khk:mn mri:mi zsm:ms nau:na nav:nv nbl:nr nde:nd ndo:ng npi:ne nya:ny oci:oc oji:oj ori:or ory:or orm:om gaz:om
oss:os pli:pi pbt:ps que:qu quy:qu roh:rm run:rn sag:sg san:sa sme:se smo:sm sna:sn snd:sd sot:st als:sq srd:sc
ssw:ss sun:su swh:sw tah:ty tat:tt tir:ti ton:to tsn:tn tso:ts twi:tw uig:ug uzn:uz ven:ve vol:vo wln:wa wol:wo
yid:yi ydd:yi zha:za
"""
TWO_LETTERS: dict[str, str] = longer_codes() | dict(each.split(":", 1) for each in CODES.split())
"""ISO 639-3 codes, also of individual languages that models use for a macrolanguage, and their 639-1 codes."""
SAME = {"zt": "zh", "pb": "pt", "nn": "no"}
"""Codes, some of Argos, for what others write as a region or with another code."""
NO_REGION = "XX"
"""mBART's suffix of a language without a region."""


def shortened(code: str) -> tuple[str, str]:
    """The base language of a code, in two letters if it has such a code, and its script or region."""
    base, _, rest = code.replace("-", "_").partition("_")
    return TWO_LETTERS.get(base, base), "" if rest == NO_REGION else rest.replace("_", "-")


def hark_codes(codes: Iterable[str]) -> dict[str, str]:
    """Map each code to hark's, with script or region only where the base language is not unique."""
    parts = {code: shortened(code) for code in codes}
    count = Counter(base for base, _ in parts.values())
    found: dict[str, str] = {}
    for code, (base, rest) in parts.items():
        for candidate in (base if count[base] == 1 or not rest else f"{base}-{rest}", code.replace("_", "-")):
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
    base = base_language(shortened(code)[0])
    return SAME.get(base, base)


def languages_of(text: str, option: str) -> tuple[str, ...]:
    """The language codes in an option such as `-s en,fr`."""
    codes = tuple(each.strip() for each in text.split(",") if each.strip())
    for code in codes:
        if not is_language_code(code):
            raise UserError(f"{option} {text}: {code!r} is not a language code such as en or pt-BR")
    return codes


MODEL = "sentencepiece.bpe.model"
FIRST = ("<s>", "<pad>", "</s>", "<unk>")
"""The first ids of fairseq's vocabularies; the pieces of the sentencepiece model follow from its fourth on."""
START, MASK = "<s>", "<mask>"

# transformers' tokenizers of M2M100 and mBART-50 have fixed lists of languages; NLLB's reads its list from a file.
M2M100_CODES = """
af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu hy id ig
ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so
sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu
"""
WMT21_CODES = "en ha is ja cs ru zh de"
MBART50_CODES = """
ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP nl_XX ro_RO
ru_RU si_LK tr_TR vi_VN zh_CN af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF
pt_XX sv_SE sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI
"""
M2M100_TAGS = {
    name: [f"__{code}__" for code in codes.split()]
    for name, codes in {"m2m100": M2M100_CODES, "wmt21": WMT21_CODES}.items()
}
"""The language tags of M2M100, by the name of their list in transformers."""
MBART50_TAGS = MBART50_CODES.split()


def sentencepiece_pieces(model: bytes, where: object) -> list[str]:
    """The pieces before the languages of NLLB and mBART-50, by id."""
    return [*FIRST, *all_pieces(model, where)[len(FIRST) - 1 :]]


def all_pieces(model: bytes, where: object) -> list[str]:
    """The pieces of a sentencepiece model, in its own order."""
    try:
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    except RuntimeError:
        raise UserError(f"{where}: not a sentencepiece model, or damaged") from None
    return [processor.id_to_piece(i) for i in range(processor.get_piece_size())]


def with_languages(pieces: Sequence[str], codes: Sequence[str], size: int, has_mask: bool) -> tuple[str, ...]:
    """All pieces by id: those of text, then the languages. Empty ones fill a vocabulary up to its size."""
    found = (*pieces, *codes, *((MASK,) if has_mask else ()))
    return found + ("",) * (size - len(found))
