"""How M2M100, NLLB and mBART-50 number pieces and languages, as fairseq did: for import and export."""

from collections.abc import Sequence

import sentencepiece

from hark.errors import UserError

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
