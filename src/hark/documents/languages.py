"""What files say about their language: its usual region, and the direction of its writing."""

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
    scripts = [each for each in parts[1:] if len(each) == 4 and each.isalpha()]
    return scripts[0] in RIGHT_TO_LEFT_SCRIPTS if scripts else parts[0] in RIGHT_TO_LEFT
