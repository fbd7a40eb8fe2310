"""A small test set with translations of differing quality."""

from hark.evaluate.evaluation import Evaluation, evaluate
from hark.evaluate.held_out import HeldOutSet
from hark.evaluate.systems import Insight, Output, System

SOURCES = (
    "A dog runs.",
    "Two men stand in front of a well-known e-mail company.",
    "The girl in the red dress is reading a book, and her brother plays with a ball on the grass of the park.",
    "Children play.",
)
REFERENCES = (
    "Ein Hund rennt.",
    "Zwei Männer stehen vor einer bekannten E-Mail-Firma.",
    "Das Mädchen im roten Kleid liest ein Buch, und sein Bruder spielt im Park mit einem Ball auf dem Gras.",
    "Kinder spielen.",
)
GOOD = (
    "Ein Hund rennt.",
    "Zwei Männer stehen vor einer bekannten E-Mail Firma.",
    "Das Mädchen im roten Kleid liest ein Buch, und ihr Bruder spielt mit einem Ball auf dem Gras des Parks.",
    "Kinder spielen.",
)
POOR = (
    "Ein Hund rennt.",
    "Männer stehen bei Firma.",
    "Das Mädchen liest, und ihr Bruder spielt mit Gras.",
    "Die Katze <b>schläft</b>.",
)
SET = HeldOutSet("small", SOURCES, REFERENCES)


class Known:
    """A stub of a system with fixed translations."""

    def __init__(self, name: str, texts: tuple[str, ...], insight: Insight | None = None) -> None:
        self.name, self.texts, self.insight = name, texts, insight
        self.looked_at: list[str] = []

    def translate(self, held_out: HeldOutSet, advance: object) -> Output:  # noqa: ARG002
        return Output(self.texts)

    def look(self, sources: list[str], nbest: int, languages: object = None) -> list[Insight | None]:  # noqa: ARG002
        self.looked_at += sources
        return [self.insight] * len(sources)


def systems() -> list[System]:
    return [Known("good", GOOD), Known("poor", POOR)]  # type: ignore[list-item]


def small_evaluation(resamples: int = 50) -> Evaluation:
    return evaluate([SET], systems(), resamples=resamples)
