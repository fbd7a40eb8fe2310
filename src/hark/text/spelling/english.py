"""Corrections of hastily typed English: `dont`, `im`, `i`, `thx`. The context of a word decides what it is."""

from dataclasses import dataclass

_JOINING = frozenset("@#%$/\\_=<>|~0123456789")
_OPENING = " \t\"'“”„«»‚‘([*"
_ENDING = frozenset(".!?:…–—•")


@dataclass(frozen=True)
class Context:
    """The position of a word, and its neighbours if only a space separates them."""

    text: str
    start: int
    end: int
    before: str = ""
    after: str = ""

    def is_first(self) -> bool:
        """Whether a sentence may start here."""
        head = self.text[: self.start].rstrip(_OPENING)
        return not head or head[-1] in _ENDING or head.endswith(" -") or head == "-"

    def is_shouted(self) -> bool:
        """Whether the whole text is in capitals."""
        return self.text.isupper()

    def is_joined(self, also: str = "") -> bool:
        """Whether it is part of something longer: a path, a formula, a domain, `u.s.`, or joined by `also`."""
        text, start, end = self.text, self.start, self.end
        left, right = text[start - 1 : start] if start else "", text[end : end + 1]
        if left in _JOINING or right in _JOINING or (left and left in also) or (right and right in also):
            return True
        if left == "(" and right == ")":  # (i), (r)
            return True
        return (left == "." and start > 1 and text[start - 2].isalnum()) or (
            right == "." and text[end + 1 : end + 2].isalnum()
        )


def match_case(right: str, word: str) -> str:
    """Return `right` with the case of `word`."""
    if word.isupper() and len(word) > 1:
        return right.upper()
    return right[0].upper() + right[1:] if word[0].isupper() else right


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CONTRACTIONS = {
    word.replace("'", "").lower(): word
    for word in _words(
        "don't doesn't didn't can't won't isn't aren't wasn't weren't hasn't haven't hadn't couldn't wouldn't "
        "shouldn't mustn't needn't ain't I'm I've you're you've you'll you'd they're they've they'll they'd we've he's "
        "he'd she's that's that'll what's what'll what've who's when's where's why's how's there's there'll here's "
        "it'll it'd could've should've would've might've must've o'clock"
    )
}
"""Contractions by their form without apostrophe, except those that are also words (its, well)."""
_BEFORE = {
    "its": ("it's", _words("a an been going getting raining snowing my your ok okay")),
    "ill": (
        "I'll",
        _words(
            "be do go get take give never call have see tell show come make help let stay ask leave miss try wait buy "
            "lend pick pay keep look find need always meet bring send put talk write phone teach stop think drive"
        ),
    ),
    "id": ("I'd", _words("like rather be love never better do prefer been have appreciate say")),
    "wed": ("we'd", _words("like better")),
    "lets": (
        "let's",
        _words(
            "go do see get eat play try take start talk meet make have hope not just say face wait work watch begin "
            "move keep call ask find leave stay dance stop use put be sit drink walk run buy look listen read pretend "
            "assume consider discuss hear hurry help think remember forget finish change open close turn speak write"
        ),
    ),
}
"""Also words in their own right, but before these in at most 1 of 200 cases, measured on 1.9 million sentences."""
SHORT = {
    "pls": "please",
    "plz": "please",
    "thx": "thanks",
    "thnx": "thanks",
    "ppl": "people",
    "tmrw": "tomorrow",
    "cuz": "because",
    "idk": "I don't know",
    "btw": "by the way",
    "asap": "as soon as possible",
}
_NOT_AFTER = {
    "wont": _words("his her their our my its your is was are were as the a"),
    "cant": _words("the a of this such no"),
}
"""`As is his wont` and `the cant of the clergy` are correct."""
_YOU_ARE = _words("welcome right wrong so the a an not too very going late crazy funny sure lucky amazing")
_PREDICATES = _words(
    "am are was were have had do did can could will would should must may might cannot think know want like need "
    "thought love hope wish just never really always still only also already often usually got get go went saw see "
    "heard hear told tell feel felt found find knew bought hate wanted met made came used said say gave remember took "
    "take guess believe forgot live ask asked read tried lost prefer wrote speak come left understand bet ate look use "
    "miss agree help work suppose eat assume expect doubt wonder swear promise guys"
)
_BEFORE_I = _words("do did can could will would should am have was may")
_BEFORE_LAST_I = _words("and or than but")
_BEFORE_YOU = _words(
    "are do did have if can what would for to with could will when tell thank were thought told about where ask hope "
    "why without love call hear miss meet from how see r"
)
_LETTERS = frozenset(("i", "u", "r"))
_TYPED = frozenset((*CONTRACTIONS, *SHORT, *_BEFORE, *_LETTERS, "ur", "i'm", "i've", "i'll", "i'd"))
_SPELT = {spelt for word in _TYPED for spelt in (word, word.capitalize(), word.upper())} - {
    f"I{rest}" for rest in ("", "'m", "'ve", "'ll", "'d", "'M", "'VE", "'LL", "'D")
}
HINTS = frozenset(f"{word}{sign}" for word in _SPELT for sign in ("", *".,!?;:…"))
"""A text with none of these between spaces has nothing for `mend`."""
HASTE = frozenset((*CONTRACTIONS, *SHORT, "ur", "r", "i"))
"""A text with one of these was typed in haste."""


def is_typed(word: str) -> bool:
    """Whether a word is a known hasty form, or has the same spelling as one."""
    return word.lower() in _TYPED


def mend(word: str, context: Context) -> str | None:
    """Return the corrected word, or None if it is or may be correct."""
    small = word.lower()
    if context.is_joined("-&"):
        return None
    before, after = context.before.lower(), context.after.lower()
    if small in _LETTERS:
        return _mend_letter(word, before, context)
    if small.startswith("i'"):
        return "I" + word[1:] if word[0] == "i" else None
    if small == "ur":
        return None if word.isupper() else match_case("you're" if after in _YOU_ARE else "your", word)
    if small in _BEFORE:
        right, others = _BEFORE[small]
        first = context.is_first()
        sure = context.after in others and not word.isupper() and (first or (word.islower() and small != "lets"))
        return match_case(right, word) if sure else None
    if before in _NOT_AFTER.get(small, ()) or (small == "wont" and after == "to"):
        return None
    if small == "im" and before and context.after[:1].isupper():  # "Alles im Eimer" in an English text
        return None
    right = CONTRACTIONS.get(small) or SHORT[small]
    if word.isupper():  # IM, PPL and IDK may be abbreviations
        return right.upper() if "n't" in right or context.is_shouted() else None
    if word.istitle() and small in ("im", "ive") and not context.is_first():  # Jony Ive
        return None
    return match_case(right, word)


def _mend_letter(word: str, before: str, context: Context) -> str | None:
    """Correct i, u and r, unless the neighbours suggest a letter (`press u`, `type i`)."""
    after, text = context.after, context.text
    if word != "i" and text[:1].isupper() and HASTE.isdisjoint(text.lower().split()):  # as in: Same applies for u.
        return None
    last = not after and not text[context.end :].strip(" .!?,;\"'")
    predicate = after in _PREDICATES or "n't" in CONTRACTIONS.get(after.replace("'", ""), "")
    match word:
        case "i" if predicate or before in _BEFORE_I or (last and before in _BEFORE_LAST_I):
            return "I"
        case "u" if predicate or before in _BEFORE_YOU or after == "r":
            return "you"
        case "r" if "u" in (before, after):
            return "are"
    return None
