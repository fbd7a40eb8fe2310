"""The sentence that is shown of a text, which may be as long as it likes."""

from functools import partial

from hark.errors import UserError
from hark.text.segments import lay_out
from hark.text.sentences import split_sentences

LONGEST = 1000
"""Characters of a sentence. A longer one is hardly one, would take minutes, and could not be read on a page."""
BEGINNING = 4 * LONGEST
"""Characters of a text that are looked at."""


def first_sentence(text: str, language: str) -> tuple[str, list[str]]:
    """The first sentence of a text, and what to say if there are more."""
    start = text.lstrip()
    sentences = lay_out(start[:BEGINNING], partial(split_sentences, language=language)).sentences
    if not sentences:
        raise UserError("there is no text to look at; give a sentence")
    if len(sentences[0]) > LONGEST:
        raise UserError(
            f"the first sentence has more than {LONGEST:,} characters, the most that a page shows; give a shorter one"
        )
    return sentences[0], ["the text has several sentences; this page shows the first"] if sentences[1:] else []
