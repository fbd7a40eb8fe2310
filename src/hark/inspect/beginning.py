"""Finds the first sentence of a text of any length."""

from functools import partial

from hark.errors import UserError
from hark.text.segments import lay_out, split_sentences

LONGEST = 1000
"""Maximum characters of a sentence. A longer one would take minutes and be unreadable on the page."""
BEGINNING = 4 * LONGEST
"""Characters of the text to search for the first sentence."""


def first_sentence(text: str, language: str) -> tuple[str, list[str]]:
    """Return the first sentence of a text, and a note if there are more."""
    start = text.lstrip()
    sentences = lay_out(start[:BEGINNING], partial(split_sentences, language=language)).sentences
    if not sentences:
        raise UserError("no text; give a sentence")
    if len(sentences[0]) > LONGEST:
        raise UserError(
            f"the first sentence is longer than {LONGEST:,} characters, the limit of a page; give a shorter one"
        )
    return sentences[0], ["the text has several sentences; this page shows the first"] if sentences[1:] else []
