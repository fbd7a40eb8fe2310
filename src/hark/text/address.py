"""Formal and informal address (Sie or du, vous or tu): how a text addresses its reader.

Languages with two forms are those in `FORMS`. English has one; there, greetings, closings and slang tell a letter to a
friend from one to a landlord.
"""

import re
from typing import Literal

from hark.facts import LanguagePair

Address = Literal["formal", "informal"]
_I = re.IGNORECASE
FORMS = {
    "de": (re.compile(r"(?<=[\w,;:–-] )(?:Sie|Ihnen|Ihr|Ihre[nmrs]?)\b"),
           re.compile(r"\b(?:[Dd]u|[Dd]ich|[Dd]ir|[Dd]ein(?:e[nmrs]?)?|[Ee]uch|[Ee]uer|[Ee]ure[nmrs]?)\b")),
    "fr": (re.compile(r"\b(?:vous|votre|vos|vôtres?)\b", _I),
           re.compile(r"\b(?:tu|te|toi|ton|ta|tes|tien(?:ne)?s?)\b|\bt['’]", _I)),
    "es": (re.compile(r"\b(?:usted|ustedes)\b", _I),
           re.compile(r"\b(?:tú|te|ti|tu|tus|contigo|tuy[oa]s?|vosotr[oa]s|os|vuestr[oa]s?)\b", _I)),
    "it": (re.compile(r"(?<=[\w,;:–-] )(?:Lei|Suo|Sua|Suoi|Sue)\b|(?:ar|er|ir)L[ae]\b"),
           re.compile(r"\b(?:tu|te|ti|tuo|tua|tuoi|tue|vostr[oaie])\b", _I)),
    "nl": (re.compile(r"\b(?:u|uw|Uw|U)\b"), re.compile(r"\b(?:je|jij|jou|jouw|jullie)\b", _I)),
    "pt": (re.compile(r"\b(?:vocês?|o senhor|a senhora|os senhores|as senhoras)\b", _I),
           re.compile(r"\b(?:tu|te|ti|teus?|tuas?|contigo)\b", _I)),
}  # fmt: skip
"""Words of formal and of informal address. Verbs alone do not count: too many forms have other readings."""
_YOU = re.compile(r"\b(?:you|your|yours|yourself|yourselves)\b", _I)


def find_address(source: str, target: str, languages: LanguagePair) -> Address | None:
    """Return how the target addresses its reader; None if it does not, or in both ways."""
    if languages[1] == "en" or (languages[0] == "en" and not _YOU.search(source)):
        return None
    formal, informal = (bool(pattern.search(target)) for pattern in FORMS[languages[1]])
    return None if formal == informal else "formal" if formal else "informal"
