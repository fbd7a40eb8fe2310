"""Patterns of text that a translation must copy: addresses, code, placeholders, tags, numbers.

Each pattern has a kind (`Kind`). The first that matches at a position wins, so longer shapes come first.
"""

import re
from typing import Literal

ItemKind = Literal[
    "code", "address", "markup", "placeholder", "literal", "time", "price", "quantity", "identifier", "number", "word",
    "symbol", "term",
]  # fmt: skip
"""`code`: code spans, paths, file names, command-line options. `address`: web, e-mail, @name, IBAN, phone numbers.
`literal`: text in quotes that names a button or a file. `identifier`: mixed tokens such as B-XY 1234, version numbers.
`quantity`: numbers with units. `number`: numbers that must stay in digits. `word` and `symbol`: characters that are
rare or missing in the training text. `term`: a term of a glossary. Times, prices and number separators are written as in the target language."""

# Units that are not also words ("10 pm", German "142 um"). Matched only after a number.
_UNITS = (
    r"[kMGT]?i?B/s|[kMG]?bit/s|(?:km|m|mi)/[hs]|[kMGT]?i?B|mph|kWh|[kMG]?Wh?|[nµmkdc]?m[²³23]?|[nµmkM]?g|[µmdch]?[lL]|"
    r"[mk]?V|[mµ]A|[kMG]?Hz|[kM]?Pa|[mh]?bar|k?cal|kJ|kN|dB|lbs?|oz|ft|yd|px|ppm|rpm|[nµm]s|min|(?<=\s)[hs]|°\s?[CF]?|[%‰]"
)
# Units in words, in seven languages: what stands before one is a quantity. Not "points" and "times", which are verbs, too.
UNIT_WORDS = (
    r"(?i:[ \u00a0\u202f-](?:"
    r"(?:kilo|quiló|quilo|chilo|centi|zenti|centí|mill?i|milí|quadrat|kubik|square |cubic )?(?:met(?:er|re|ri|ro)|mètre)[ns]?|"
    r"(?:kilo|chilo|quilo|mill?i)?(?:gramm?[eosi]?s?|gramas?)|kilos?|chil[io]|quilos?|lit(?:er|re|ro|ri)s?|"
    r"tonn?e[ns]?|tons?|tonnellat[ae]|toneladas?|miles?|meilen?|feet|foot|inch(?:es)?|yards?|pounds?|ounces?|pfund|"
    r"grad[eosi]?|graden|graus?|degr[eé]e?s?|per ?cent|prozent(?:punkte?n?)?|procent|percentage points|"
    r"(?:pour|por|per) ?cent[oa]?|thousand|milli?on(?:en|s|i|e|es)?|mill?ões|millón|miljoen|mil milh(?:ões|ão)|milh(?:ões|ão)|"
    r"billions?|milliarden?|milliards?|miliard[io]|miljard|euros?|dollars?|dollari|dólares|francs?|franken|watt|volt|"
    r"(?:kilo|mega|giga|tera)?(?:bytes?|watts?|hertz)|pixels?|calorie[sën]?|kalorien|"
    r"seconds?|secondes?|sekunden?|segundos?|secondi|minut(?:es?|en?|os|i|a)|hours?|heures?|stunden?|horas?|ore|uur|"
    r"days?|jours?|tagen?|días?|dias?|giorni|dagen|weeks?|semaines?|wochen?|semanas?|settimane|weken|"
    r"months?|mois|monaten?|meses|mesi|maanden|years?|ans|années|jahren?|años?|anos?|anni|jaar"
    r")\b)"
)
_FIGURE = r"(?>\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,:/'’]\d+)*)"
_MONEY = r"[$€£¥]"
_AMOUNT = r"\d+(?:[.,]\d+)*(?:[.,][-–]|[kKmM]\b)?"
_DOMAINS = "com|org|net|edu|gov|info|io|dev|app|co|uk|de|ch|eu|fr|nl|pt|pl|ai|tv"
_FILES = (
    "txt|md|rst|py|js|ts|jsx|tsx|json|ya?ml|toml|xml|html?|css|cfg|conf|ini|log|csv|tsv|pdf|docx?|xlsx?|pptx?|odt|png|"
    "jpe?g|gif|svg|mp[34]|wav|zip|tar|gz|xz|exe|dll|sh|bat|cpp|java|rs|rb|php|sql|db|bin|iso|deb|rpm|lock|env"
)
# Quoted text after these words is a label on a screen or a name in a file, and is copied.
_LABELLED = (
    r"click(?:ing)?|press|tap|select|choose|type|enter|run|button|menu|tab|option|field|box|command|file|folder|key|"
    r"named|called|labelled|labeled|says|message|error|variable|function|column|status|value|set|"
    r"klick\w*|drück\w*|tipp\w*|wähl\w*|gib|geben|befehl|datei|ordner|taste|knopf|schaltfläche|menü\w*|feld|option|"
    r"registerkarte|namens|meldung|fehler\w*|variable|funktion|spalte|status|wert|setze\w*|steht"
)
_QUOTED = r"(?<!\w)'[^'\n]{1,40}'(?!\w)|\"[^\"\n]{1,60}\"|“[^”“\n]{1,60}[”“]|„[^“”„\n]{1,60}[“”]|«[^»\n]{1,60}»|»[^«\n]{1,60}«|‚[^‘’\n]{1,60}[‘’]"

ENDLESS = 500
"""A run of this many ASCII characters without a space is not a word but data, and is copied."""

SHAPES: tuple[tuple[ItemKind, str], ...] = (
    ("code", rf"[!-~]{{{ENDLESS},}}"),
    ("code", r"```[^\n]*?```|`[^`\n]+`"),
    ("address", r"\b[a-z][a-z\d+.-]{1,20}://[^\s<>\"“”]*[\w/=&#~$+-]|\bmailto:[^\s<>\"]*\w|\bwww\.[^\s<>\"“”]*[\w/=&#~$+-]"),
    ("address", r"(?<![\w.+%-])[\w.+%-]+@[\w-]+(?:\.[\w-]+)+|(?<![\w@])@\w(?:[\w.]*\w)?"),
    ("markup", r"</?[A-Za-z][^<>\n]*>|<!--.*?-->|&(?:[A-Za-z]\w{1,30}|\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6});"),
    (
        "placeholder",
        r"\$?\{\{[^{}\n]{1,80}\}\}|\{\s*\w+\s*,\s*(?:plural|select|selectordinal)\b(?:[^{}]|\{[^{}]*\})*\}",
    ),
    ("placeholder", r"[$#]?\{\s*[\w.$:!\#,%<>\[\]+-]*\s*\}"),
    ("placeholder", r"%(?:\d+\$|\(\w+\))?[-+0\#]{0,3}\d*(?:\.\d+)?(?:hh?|ll?|[zjt])?[sdifuxXgGeEco@](?!\w)|%%|%\d+\b"),
    ("code", r"(?<!\w)[A-Za-z]:\\[^\s\"<>|*?]*|\\\\[\w.$-]+(?:\\[\w.$-]+)+"),
    ("code", r"(?<![\w/.~])(?:~|\.{1,2})?/(?:[\w.@+~-]+/)*[\w@+~-]+(?:\.[\w@+~-]+)*/?"),
    ("code", rf"(?<![\w.@/-])[\w-]+(?:[./][\w-]+)*\.(?:{_FILES})(?![\w-]|\.\w)"),
    ("address", rf"(?<![\w.@/-])(?:[a-zA-Z\d](?:[a-zA-Z\d-]*[a-zA-Z\d])?\.)+(?:{_DOMAINS})(?![\w-]|\.\w)(?:/[^\s<>\"“”]*[\w/=&#~-])?"),
    ("code", r"(?<!\S)--[a-zA-Z][\w-]*(?:=\S*[\w/])?|(?<!\S)-[a-zA-Z](?=\s|$)"),
    ("code", r"(?<!\w)[A-Z](?:\+\+|\#)(?:-\w+)?(?!\w)|\b[a-z][\w.-]*:\d[\w.]*\b|(?<![\w$])\$[A-Za-z_]\w*|\b\w+(?:::\w+)+(?:\(\))?|\b[A-Za-z_]\w*(?:\.\w+)*\(\)|\b[a-z]+[A-Z]\w*\b(?!['’])"),
    ("code", r"(?<![\w.,])(?:\d+(?:[.,]\d+)?|[a-zA-Z]\d?)(?:(?:\s(?:[<>]=?|==|!=|≤|≥|≠|~)\s|[<>]=?|==|!=|≤|≥|≠|\^|\*\*)(?:\d+(?:[.,]\d+)?|[a-zA-Z]\d?)(?!\w))+"),
    ("address", r"(?<!\w)\#\w+"),
    ("address", r"\b[A-Z]{2}\d{2}(?: ?[A-Z\d]{4}){2,7}(?: ?[A-Z\d]{1,4})?\b"),
    (
        "address",
        r"(?<![\w+])(?:\+|00)\d{1,3}[ /-]?(?:\(0\) ?)?\(?\d{1,5}\)?(?:[ /-]?\d{2,}){1,5}\b|(?<!\w)\(0?\d{2,5}\)[ /-]?\d{2,}(?:[ -]\d{2,})*\b|"
        r"\b0\d{2,5}(?:[ /]|-(?=\d{3}))\d{2,}(?:[ -]\d{2,})*\b|\b\d{3}-\d{3,4}-\d{4}\b|\b\d{3}-\d{4}\b",
    ),
    # Street addresses are the same in every language.
    ("identifier", r"\b[A-ZÄÖÜ][\wäöüß]+(?:straße|strasse|str\.|platz|weg|allee|gasse|ring|damm|ufer)\s\d+[a-z]?\b"),
    ("identifier", r"\b\d+[a-z]?\s(?:[A-Z][\w'’]+\s)+(?:Street|Road|Avenue|Lane|Drive|Square|Way|St|Rd|Ave)\b"),
    ("literal", rf"(?i:(?<=\b)(?:{_LABELLED})(?:[^\w<>=]+\w+){{0,2}}?[^\w<>=]+?)(?P<quoted>{_QUOTED})"),
    ("identifier", r"\b(?!\d{1,3}(?:\.\d{3})+\b)[vV]?\d+(?:\.\d+){2,}(?:[-+.]\w+)*\b|\b[vV]\d+(?:\.\d+)*\b"),
    ("identifier", r"\b[A-ZÄÖÜ]{1,3}-[A-Z]{1,2} ?\d{1,4}[EH]?\b"),
    ("price", rf"(?<![\w$€£¥\"']){_MONEY}\s?{_AMOUNT}(?![\d%]|[a-z]*\$)|(?<![\w.,]){_AMOUNT}\s?{_MONEY}(?!\w)"),
    ("quantity", rf"(?<![\w.,\"“„»]){_FIGURE}[ \u00a0\u202f]?(?:{_UNITS})(?![\w°%]|\.\w)"),
    (
        "identifier",
        r"\b(?!\d+(?:st|nd|rd|th|s|er|ers?n?|te[nrms]?|[ap]m|x)\b)(?=[\w/-]*[A-Za-z])(?=[\w/-]*\d)[A-Z\d][A-Za-z\d]*(?:[-/_][A-Z\d][A-Za-z\d]*)*\b",
    ),
    ("number", rf"(?<!\w){_FIGURE}"),
)  # fmt: skip
ITEMS = re.compile("|".join(f"(?P<{kind}_{i}>{shape})" for i, (kind, shape) in enumerate(SHAPES)))
HINT = re.compile(
    rf"[!-~]{{{ENDLESS}}}|"
    r"[\d`@<&{%$€£¥\\#~/]|\w\.\w|\w\(\)|::|[a-z][A-Z]|(?:^|\s)-|mailto:|[\"“„«»‚][^\"“”„«»‘’]+[\"“”«»‘’]"
)
"""A fast check: text without any of these has no item, which settles most sentences."""

# A translation may spell out short and round numbers and times ("twelve", "a thousand", "half past three"); other
# numbers must be in digits.
SPELLABLE = re.compile(r"\d{1,2}(?:[.,'’ \u00a0\u202f]?000)*|[1-9]?0+|\d{1,2}:\d\d")
CODE_LINE = re.compile(
    r"\s*(?:(?:\$|>>>|\.\.\.) \S|\#!/|sudo \S|(?:pip3?|npm|apt|apt-get|brew|cargo) (?:install|run|update|upgrade) |"
    r"git (?:clone|add|commit|push|pull|checkout) |SELECT\b.+\bFROM\b|INSERT INTO |from [\w.]+ import |def \w+\(.*:$|"
    r"(?=.*(?:\w\(|\) ?\{|[^=!<>]=[^=]|[=!]=|\{ )).*[;{}]\s*$)"
)
"""A shell command or a program statement."""
OPAQUE: frozenset[ItemKind] = frozenset({"code", "address", "literal", "time", "price", "placeholder"})
"""Kinds hidden from the model: it sees a number in their place, which models copy, and they are restored after."""
