"""Language checks: detection of text that is not in the expected language."""

from collections.abc import Mapping, Sequence

from hark.text.detector import base_language, guess_language, known_languages, load_detector, plain

# The detector is unreliable on fewer letters.
MIN_LETTERS = 20
# This many characters settle 99 lines of 100, at a third of the cost of the whole line.
GLANCE = 40
# If the expected language has at least this probability, the text is kept, however likely another language is: the
# detector takes "Tom weiß, was er tut." for English with 0.97, but gives German more than it does for Polish text.
DOUBT = 0.01

# Languages and dialects that the detector confuses.
RELATIVES = (
    {"no", "nn", "da"},
    {"hr", "sr", "bs", "sh"},
    {"id", "ms"},
    {"zh", "yue", "wuu"},
    {"ar", "arz"},
    {"fa", "mzn", "lrc"},
    {"ku", "ckb", "diq"},
    {"pa", "pnb"},
    {"hi", "bh", "mai"},
    {"uk", "rue"},
    {"az", "azb"},
    {"en", "sco"},
    {"de", "als", "bar", "pfl"},
    {"nl", "vls", "li"},
    {"it", "lmo", "nap", "scn", "vec", "pms", "eml"},
    {"es", "ast", "an"},
    {"mhr", "mrj"},
)


class LanguageCheck:
    """Detects lines in another language with high confidence; accepts all if the detector lacks the language."""

    def __init__(self, language: str, confidence: float) -> None:
        base = base_language(language)
        self.confidence = confidence
        self.expected = {base}.union(*(group for group in RELATIVES if base in group))
        self.predict = load_detector()
        self.known = base in known_languages()

    def is_foreign(self, text: str) -> bool:
        """Whether the text is in another language, with at least the configured confidence."""
        if not self.known or self.first_guess(text[:GLANCE]) in self.expected:
            return False
        if sum(map(str.isalpha, text)) < MIN_LETTERS:
            return False
        # Capitals mislead the detector (it takes "AUSSPRACHE" for Japanese), so the lowercased text must agree.
        return self.is_surely_foreign(text) and self.is_surely_foreign(text.lower())

    def first_guess(self, text: str) -> str:
        (_, label), *_ = self.predict(text + "\n", 1, 0.0, "strict")
        return plain(label)

    def is_surely_foreign(self, text: str) -> bool:
        guesses = {plain(label): probability for probability, label in self.predict(text + "\n", 200, 0.0, "strict")}
        best = max(guesses, key=guesses.__getitem__)
        expected = max(guesses.get(language, 0.0) for language in self.expected)
        return best not in self.expected and guesses[best] >= self.confidence and expected < DOUBT


def looks_swapped(
    dropped: Mapping[str, int], kept: int, samples: Sequence[tuple[str, str]], source: str, target: str
) -> bool:
    """Whether a corpus lost most of its pairs because source and target are swapped.

    `samples` are pairs dropped by the language rule.
    """
    if 2 * dropped["language"] <= kept + sum(dropped.values()):
        return False
    swapped = sum(
        guess_language(one, [source, target]) == target and guess_language(other, [source, target]) == source
        for one, other in samples
    )
    return 2 * swapped > len(samples)
