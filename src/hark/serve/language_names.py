"""English names of languages, for clients that show a list."""

from hark.text.detector import base_language

_NAMES = """
af Afrikaans|am Amharic|ar Arabic|az Azerbaijani|be Belarusian|bg Bulgarian|bn Bengali|bs Bosnian|ca Catalan|cs Czech
cy Welsh|da Danish|de German|el Greek|en English|eo Esperanto|es Spanish|et Estonian|eu Basque|fa Persian|fi Finnish
fr French|ga Irish|gl Galician|gu Gujarati|he Hebrew|hi Hindi|hr Croatian|hu Hungarian|hy Armenian|id Indonesian
is Icelandic|it Italian|ja Japanese|ka Georgian|kk Kazakh|km Khmer|kn Kannada|ko Korean|ky Kyrgyz|la Latin
lb Luxembourgish|lo Lao|lt Lithuanian|lv Latvian|mk Macedonian|ml Malayalam|mn Mongolian|mr Marathi|ms Malay|mt Maltese
my Burmese|nb Norwegian Bokmål|ne Nepali|nl Dutch|nn Norwegian Nynorsk|no Norwegian|pa Punjabi|pl Polish|ps Pashto
pt Portuguese|ro Romanian|ru Russian|si Sinhala|sk Slovak|sl Slovenian|so Somali|sq Albanian|sr Serbian|sv Swedish
sw Swahili|ta Tamil|te Telugu|tg Tajik|th Thai|tk Turkmen|tl Tagalog|tr Turkish|uk Ukrainian|ur Urdu|uz Uzbek
vi Vietnamese|xh Xhosa|yo Yoruba|zh Chinese|zu Zulu
"""
NAMES = dict(entry.split(" ", 1) for line in _NAMES.split("\n") for entry in line.split("|") if entry)


def language_name(code: str) -> str:
    """The English name of a language; the code itself if it is not known."""
    name = NAMES.get(code) or NAMES.get(base_language(code))
    return code if name is None else name if "-" not in code else f"{name} ({code.partition('-')[2]})"
