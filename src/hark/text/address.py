"""Formal and informal address (Sie or du, vous or tu): how a text addresses its reader.

Languages with two forms are those in `FORMS`. English has one; there, greetings, closings and slang tell a letter to a
friend from one to a landlord.
"""

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Literal, get_args

from hark.errors import UserError
from hark.text.detector import base_language

Address = Literal["formal", "informal"]
Formality = Literal["auto", "formal", "informal"]
"""What users ask for; auto: `choose_address` decides."""
READ = 500_000
"""Characters of a text that the choice of its form depends on."""
FORMS: Mapping[str, tuple[str, str]] = MappingProxyType({
    "de": (r"(?<=[\w,;:–-] )(?:Sie|Ihnen|Ihr|Ihre[nmrs]?)\b",
           r"\b(?:[Dd]u|[Dd]ich|[Dd]ir|[Dd]ein(?:e[nmrs]?)?|[Ee]uch|[Ee]uer|[Ee]ure[nmrs]?)\b"),
    "fr": (r"(?i)\b(?:vous|votre|vos|vôtres?)\b", r"(?i)\b(?:tu|te|toi|ton|ta|tes|tien(?:ne)?s?)\b|\bt['’]"),
    "es": (r"(?i)\b(?:usted|ustedes)\b",
           r"(?i)\b(?:tú|te|ti|tu|tus|contigo|tuy[oa]s?|vosotr[oa]s|os|vuestr[oa]s?)\b"),
    "it": (r"(?<=[\w,;:–-] )(?:Lei|Suo|Sua|Suoi|Sue)\b|(?:ar|er|ir)L[ae]\b",
           r"(?i)\b(?:tu|te|ti|tuo|tua|tuoi|tue|vostr[oaie])\b"),
    "nl": (r"\b(?:u|uw|Uw|U)\b", r"(?i)\b(?:je|jij|jou|jouw|jullie)\b"),
    "pt": (r"(?i)\b(?:vocês?|o senhor|a senhora|os senhores|as senhoras)\b",
           r"(?i)\b(?:tu|te|ti|teus?|tuas?|contigo)\b"),
})  # fmt: skip
"""Words of formal and of informal address. Verbs alone do not count: too many forms have other readings."""
HINTS: Mapping[str, tuple[str, str]] = MappingProxyType({
    "fr": (r"(?i)\b(?!chez\b|assez\b|nez\b|rez\b)\w+ez\b", r"(?i)^\W*(?:salut|coucou|bisous?)\b"),
    "es": (r"(?i)¿(?:me )?(?:puede|podría|tiene|quiere|desea|sabe|necesita)n?\b"
           r"|^\W*(?:no )?(?:haga|diga|tome|llame|envíe|rellene|espere|siga|abra|cierre|firme|indique|introduzca|pulse|"
           r"elija|consulte|añada|use|utilice|póngase|compruebe|seleccione)n?\b"
           r"|^\W*les? (?:agrade|rueg|rogamos|inform|escrib|envi|pid|confirm)\w+|^(?:estimad[oa]s?|atentamente)\b",
           r"(?i)\b(?:puedes|tienes|quieres|estás|eres|sabes|vas|has|haces|crees|ves|necesitas|dices|vienes|debes|podrías|"
           r"deberías|piensas|prefieres|dime|oye|hiciste|dijiste|fuiste|tuviste|llegaste|compraste|llamaste|olvidaste|"
           r"dejaste|enviaste|mandaste|recibiste|perdiste|(?!jers|dieci|veinti)\w+(?:arás|erás|irás|áis|éis))\b"),
    "it": (r"(?i)^\W*(?:mi )?(?:può|potrebbe|vuole|desidera|sa)\b(?=.*\?)"
           r"|^\W*(?:non )?(?:mi dica|scusi|senta|prenda|inserisca|apra|chiuda|attenda|compili|firmi|scelga|prema|"
           r"segua|chiami|aggiunga|usi|utilizzi|verifichi|selezioni)\b"
           r"|\b(?-i:La|Le|Vi|vi) (?:ringrazi|prego|preghiamo|informiamo|scriv|invi|conferm)\w*"
           r"|^(?:gentile|egregi[oa]|distinti|cordiali)\b",
           r"(?i)\b(?:puoi|hai|vuoi|devi|sai|vai|fai|stai|dici|vieni|credi|pensi|potresti|vorresti|dovresti|dimmi|ciao|"
           r"sei (?:stat|sicur|già|molto|tropp|brav|pront|un\b|una\b)\w*|\w{3,}(?:erai|irai))\b"),
    "pt": (r"(?i)^\W*(?:pode|poderia|quer|deseja|sabe|precisa|tem)m?\b(?=.*\?)"
           r"|^\W*(?:não )?(?:faça|diga|tome|envie|preencha|aguarde|siga|abra|feche|assine|indique|introduza|prima|"
           r"escolha|consulte|adicione|use|utilize|verifique|selecione)m?\b|^(?:exm[oa]s?|estimad[oa]s?|atenciosamente)\b",
           r"(?i)\b(?:podes|tens|queres|estás|és|sabes|fazes|vens|achas|dizes|deves|poderias|gostarias|fizeste|disseste|"
           r"foste|tiveste|chegaste|compraste|ligaste|esqueceste|deixaste|enviaste|mandaste|recebeste|perdeste|"
           r"\w+(?:arás|erás|irás))\b"),
})  # fmt: skip
"""Verbs, greetings and closings of both forms, for sentences without a pronoun. Few have other readings."""
_PLEASE = r"(?i)\b(?:bitte|veuillez|por favor|per favore|per piacere|alstublieft|alsjeblieft)\b"
_YOU = r"(?i)\b(?:you|your|yours|yourself|yourselves)\b"
_REQUEST = (
    r"(?i)\W*(?:(?:also|then|first|now|and|so|but|never|always|just|simply),? )*(?:please|kindly|don['’]?t|do not|"
    r"add|allow|apply|ask|attach|avoid|be|book|bring|buy|call|check|choose|clean|click|come|confirm|contact|cook|"
    r"cover|cut|drink|enter|fill|find|follow|forget|get|give|go|have|heat|help|hold|insert|join|keep|knock|leave|"
    r"let|listen|look|make|mix|move|note|open|pay|phone|pick|place|pour|press|pull|push|put|read|remember|remove|"
    r"replace|reply|ring|run|save|see|select|send|serve|set|show|sit|sleep|stay|stir|stop|store|switch|take|tell|"
    r"text|touch|try|turn|type|use|visit|wait|wash|watch|wear|wipe|write)\b(?!['’])"
)
"""The beginning of an English sentence that asks for something."""
_CASUAL = (
    r"(?m)^\W*(?i:hi|hiya|hey|heya|morning|yo)\b(?! (?i:mr|mrs|ms|dr|sir|madam)\b)"
    r"|^\W*(?i:(?:my )?dear(?:est)?|hello|good morning),? (?!Sir|Madam|M[rs]|Dr|Prof|Cust|Guest|All|Team|Col|Res|"
    r"Patient|Parent|Neighbour|Neighbor|Editor|Friends|Member)[A-Z][^\W\d_]+(?: and [A-Z][^\W\d_]+)?[,!]"
    r"|^\W*(?i:(?:lots of |all my |much )?love|(?:a )?big hugs?|hugs|cheers|ta|x+|kisses)\b(?=\W*(?:\w+\W*)?$)"
    r"|\b(?i:gonna|wanna|gotta|dunno|lemme|gimme|lol|omg|btw|thx|pls|plz|(?:ha){2,}h?|hehe+|yeah|yep|yup|nope|mate|dude|"
    r"bro|buddy|guys|mum|mom|mummy|mommy|dad|daddy|grandma|grandpa|granny|darling|sweetie|sweetheart|honey|see ya|cya|"
    r"xoxo?|xx+)\b"
    r"|[\U0001F300-\U0001FAFF\u2764]|(?<!\w)[:;]-?[)DP(](?!\w)|<3"
)
"""Greetings, closings and words of English letters and chats among friends."""
_POLITE = (
    r"(?i)\b(?:dear (?:mr|mrs|ms|dr|sir|madam|professor|guests?|customers?|colleagues?|residents?|patients?|parents)|"
    r"yours (?:sincerely|faithfully|truly)|(?:kind|best|warm) regards|to whom it may concern|sir|madam)\b"
)
_SENTENCE = r"(?<=[.!?…])\s+|\n+"


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    """Patterns are compiled when a text first needs them."""
    return re.compile(pattern)


def check_form(formality: object) -> None:
    """Raise an error unless it is a formality."""
    if formality is not None and formality not in get_args(Formality):
        raise UserError(f"formality {formality}: must be {', '.join(get_args(Formality)[:-1])} or informal")


def has_symbols(model: bytes) -> bool:
    """Whether the file of a vocabulary has the symbols of both forms."""
    return all(f"\u2581<{form}>".encode() in model for form in get_args(Address))


def has_forms(language: str) -> bool:
    """Whether a language has two forms of address that a model can be asked for."""
    return base_language(language) in FORMS


def form_of(text: str, language: str) -> Address | None:
    """Return the form of a text in a language with two forms; None if it has neither, or both."""
    formal, informal = _match(FORMS, text, base_language(language))
    return None if formal == informal else "formal" if formal else "informal"


def has_address(text: str, language: str) -> bool:
    """Whether a text in a language with two forms has words of either."""
    return any(_match(FORMS, text, base_language(language)))


def contradicts(text: str, wanted: Address | None, language: str) -> bool:
    """Whether a text plainly has the other form than the one that is wanted."""
    return wanted is not None and has_forms(language) and form_of(text, language) not in (None, wanted)


def addresses(sentence: str, language: str) -> bool:
    """Whether a sentence visibly addresses its reader: says you, or asks for something."""
    base = base_language(language)
    if base == "en":
        return bool(_compile(_YOU).search(sentence) or _compile(_REQUEST).match(sentence))
    return base in FORMS and bool(any(_forms(sentence, base)) or _compile(_PLEASE).search(sentence))


def choose_address(text: str, source: str) -> Address | None:
    """Choose one form for the whole translation of a text; None if it addresses nobody, or only once.

    A source language with two forms says which; English is informal if its greeting, closing or words are.
    """
    base = base_language(source)
    text = text[:READ]
    sentences = [each for each in _compile(_SENTENCE).split(text) if addresses(each, base)]
    if len(sentences) < 2:
        return None
    if base == "en":
        casual, polite = (len(_compile(pattern).findall(text)) for pattern in (_CASUAL, _POLITE))
        return "informal" if casual > polite else "formal"
    formal, informal = (sum(votes) for votes in zip(*(_forms(sentence, base) for sentence in sentences), strict=True))
    return None if not formal and not informal else "informal" if informal > formal else "formal"


def _forms(sentence: str, base: str) -> tuple[bool, bool]:
    """Whether a sentence has words of formal and of informal address; hints count only without such words."""
    found = _match(FORMS, sentence, base)
    return _match(HINTS, sentence, base) if not any(found) and base in HINTS else found


def _match(patterns: Mapping[str, tuple[str, str]], text: str, base: str) -> tuple[bool, bool]:
    formal, informal = patterns[base]
    return bool(_compile(formal).search(text)), bool(_compile(informal).search(text))
