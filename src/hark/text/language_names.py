"""Languages: their names and codes, usual regions, and the direction of their writing."""

import re
from difflib import get_close_matches
from functools import cache
from typing import NamedTuple


class Language(NamedTuple):
    """A language: its codes of ISO 639-1, and of 639-3 and 639-2, its English name, and its own names."""

    code: str
    longer: tuple[str, ...]
    english: str
    native: tuple[str, ...]


_TABLE = """
af afr Afrikaans/Afrikaans
am amh Amharic/አማርኛ
ar ara Arabic/العربية
az aze Azerbaijani/azərbaycanca
be bel Belarusian/беларуская
bg bul Bulgarian/български
bn ben Bengali/বাংলা
bs bos Bosnian/bosanski
ca cat Catalan/català
cs ces,cze Czech/čeština
cy cym,wel Welsh/Cymraeg
da dan Danish/dansk
de deu,ger German/Deutsch
el ell,gre Greek/ελληνικά
en eng English/English
eo epo Esperanto/Esperanto
es spa Spanish/español,castellano
et est Estonian/eesti
eu eus,baq Basque/euskara
fa fas,per Persian/فارسی
fi fin Finnish/suomi
fr fra,fre French/français
ga gle Irish/Gaeilge
gl glg Galician/galego
gu guj Gujarati/ગુજરાતી
he heb Hebrew/עברית
hi hin Hindi/हिन्दी
hr hrv Croatian/hrvatski
hu hun Hungarian/magyar
hy hye,arm Armenian/հայերեն
id ind Indonesian/Bahasa Indonesia
is isl,ice Icelandic/íslenska
it ita Italian/italiano
ja jpn Japanese/日本語
ka kat,geo Georgian/ქართული
kk kaz Kazakh/қазақша
km khm Khmer/ខ្មែរ
kn kan Kannada/ಕನ್ನಡ
ko kor Korean/한국어
ky kir Kyrgyz/кыргызча
la lat Latin/Latina
lb ltz Luxembourgish/Lëtzebuergesch
lo lao Lao/ລາວ
lt lit Lithuanian/lietuvių
lv lav Latvian/latviešu
mk mkd,mac Macedonian/македонски
ml mal Malayalam/മലയാളം
mn mon Mongolian/монгол
mr mar Marathi/मराठी
ms msa,may Malay/Bahasa Melayu
mt mlt Maltese/Malti
my mya,bur Burmese/မြန်မာ
nb nob Norwegian Bokmål/bokmål
ne nep Nepali/नेपाली
nl nld,dut Dutch/Nederlands
nn nno Norwegian Nynorsk/nynorsk
no nor Norwegian/norsk
pa pan Punjabi/ਪੰਜਾਬੀ
pl pol Polish/polski
ps pus Pashto/پښتو
pt por Portuguese/português
ro ron,rum Romanian/română
ru rus Russian/русский
si sin Sinhala/සිංහල
sk slk,slo Slovak/slovenčina
sl slv Slovenian/slovenščina
so som Somali/Soomaali
sq sqi,alb Albanian/shqip
sr srp Serbian/српски,srpski
sv swe Swedish/svenska
sw swa Swahili/Kiswahili
ta tam Tamil/தமிழ்
te tel Telugu/తెలుగు
tg tgk Tajik/тоҷикӣ
th tha Thai/ไทย
tk tuk Turkmen/türkmençe
tl tgl Tagalog/Tagalog
tr tur Turkish/Türkçe
uk ukr Ukrainian/українська
ur urd Urdu/اردو
uz uzb Uzbek/o‘zbek
vi vie Vietnamese/Tiếng Việt
xh xho Xhosa/isiXhosa
yo yor Yoruba/Yorùbá
zh zho,chi Chinese/中文
zu zul Zulu/isiZulu
"""
_CODE = re.compile(r"[a-z]{2,3}([-_][a-z0-9]+)*", re.IGNORECASE)


@cache
def languages() -> dict[str, Language]:
    """All languages by their codes of two letters."""
    found = {}
    for line in _TABLE.split("\n"):
        if line:
            names, _, native = line.partition("/")
            code, longer, english = names.split(" ", 2)
            found[code] = Language(code, tuple(longer.split(",")), english, tuple(native.split(",")))
    return found


@cache
def longer_codes() -> dict[str, str]:
    """The codes of two letters by those of three: `de` for `deu` and `ger`."""
    return {each: language.code for language in languages().values() for each in language.longer}


@cache
def codes_by_name() -> dict[str, str]:
    """The codes by names, English and native, in lower case."""
    return {name.casefold(): each.code for each in languages().values() for name in (each.english, *each.native)}


def language_name(code: str) -> str:
    """The English name of a language; the code itself if it is not known."""
    base = code.replace("_", "-").partition("-")[0].lower()
    language = languages().get(longer_codes().get(base, base))
    if language is None:
        return code
    return language.english if "-" not in code else f"{language.english} ({code.partition('-')[2]})"


def read_language(language: str) -> str:
    """The code of a language that a user named: `de` for `German`, `deutsch` and `DEU`. Others are left as they are."""
    plain = language.strip().casefold()
    return codes_by_name().get(plain) or longer_codes().get(plain) or (plain if plain in languages() else language)


def unknown_name(language: str) -> str:
    """What to tell a user about a word that is neither a name nor shaped like a code; nothing if it may be a code."""
    if _CODE.fullmatch(language):
        return ""
    close = get_close_matches(language.casefold(), codes_by_name(), n=1)
    return f"no language {language!r}; " + (f"did you mean {close[0]}?" if close else "see hark models")


_REGIONS = """
af-ZA ar-SA az-AZ be-BY bg-BG bn-BD bs-BA ca-ES cs-CZ cy-GB da-DK de-DE el-GR en-US es-ES et-EE eu-ES fa-IR fi-FI fil-PH
fr-FR ga-IE gl-ES gu-IN he-IL hi-IN hr-HR hu-HU hy-AM id-ID is-IS it-IT ja-JP ka-GE kk-KZ km-KH kn-IN ko-KR lo-LA lt-LT
lv-LV mk-MK ml-IN mn-MN mr-IN ms-MY mt-MT my-MM nb-NO ne-NP nl-NL nn-NO pa-IN pl-PL ps-AF pt-PT ro-RO ru-RU si-LK sk-SK
sl-SI sq-AL sr-RS sv-SE sw-KE ta-IN te-IN th-TH tr-TR uk-UA ur-PK uz-UZ vi-VN zh-CN zu-ZA
"""
REGIONS = dict(each.split("-") for each in _REGIONS.split())
"""The region that office programs expect with a language; it chooses their dictionary for spelling."""
RIGHT_TO_LEFT = frozenset(("ar", "arc", "azb", "ckb", "dv", "fa", "he", "iw", "ps", "sd", "ug", "ur", "yi"))
RIGHT_TO_LEFT_SCRIPTS = frozenset(("adlm", "arab", "hebr", "nkoo", "syrc", "thaa"))
EAST_ASIAN = frozenset(("ja", "ko", "zh"))


def with_region(language: str) -> str:
    """The tag of a language with its usual region: de-DE for de; tags that have more than a language stay."""
    language = language.replace("_", "-")
    region = REGIONS.get(language.lower())
    return f"{language.lower()}-{region}" if region else language


def is_right_to_left(language: str) -> bool:
    """Whether a language is written from right to left; its tag may name the script, as pa-Arab does."""
    parts = language.replace("_", "-").lower().split("-")
    scripts = [part for part in parts[1:] if len(part) == 4 and part.isalpha()]
    return scripts[0] in RIGHT_TO_LEFT_SCRIPTS if scripts else parts[0] in RIGHT_TO_LEFT
