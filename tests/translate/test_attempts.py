"""Requests with language tags, and texts in capitals."""

import numpy as np
import pytest

from hark.config import DecodeConfig
from hark.engine.interface import Hypothesis
from hark.facts import LanguageTags
from hark.text.vocabulary import Coder
from hark.translate.attempts import is_shouted, sentence_case, shout, whole_piece
from hark.translate.readings import best_candidate
from tests.translate.stub import many_to_many, tokenizer

CODER = Coder(tokenizer(), tokenizer())


def test_requests_carry_tag_and_prefix() -> None:
    attempt = whole_piece("the cat", (), DecodeConfig(), inner=False)
    tag = CODER.source.tag
    (request,) = attempt.requests(many_to_many("source"), False, "de")
    assert (request.source[0], request.prefix) == (tag("de"), ())
    (request,) = attempt.requests(many_to_many("target"), False, "de", "en")
    assert (request.source[0], request.prefix) == (tag("en"), (tag("de"),))
    (request,) = attempt.requests(CODER, False)
    assert request.source == CODER.source.source_ids("the cat")


@pytest.mark.parametrize("tags", ["source", "target"])
def test_language_tags_are_not_linked(tags: LanguageTags) -> None:
    coder = many_to_many(tags)
    attempt = whole_piece("the cat sees", (), DecodeConfig(), inner=False)
    requests = attempt.requests(coder, True, "de", "en")
    tokens = (*coder.target.prefix("de"), *coder.source.encode_literal("the cat sees"))
    first = len(coder.target.prefix("de"))
    attention_TS = np.zeros((len(tokens), len(requests[0].source)), np.float32)
    for t in range(len(tokens)):
        # Every token attends to its own position, and even more to the tag.
        attention_TS[t, 0], attention_TS[t, max(0, t - first) + 1] = 0.6, 0.4
    candidate = best_candidate(attempt, requests, [(Hypothesis(tokens, -1.0, -1.0, True, attention_TS),)], coder, 1)
    assert candidate.text == "the cat sees"
    assert [(link.source, link.target) for link in candidate.links] == [((0, 3),) * 2, ((4, 7),) * 2, ((8, 12),) * 2]


@pytest.mark.parametrize(
    "text", ["THE CAT SEES A HOUSE", "WARNING!", "DIE STRASSE IST GLATT.", "MEETING OF THE EU (iv)"]
)
def test_shouted(text: str) -> None:
    assert is_shouted(text)


@pytest.mark.parametrize(
    "text", ["NATO", "UNESCO", "The EU and NATO agree", "McDONALD was here", "2014", "", "你好世界你好世界", "abc"]
)
def test_not_shouted(text: str) -> None:
    assert not is_shouted(text)


def test_kept_spans_are_ignored_and_unchanged() -> None:
    text = "SEE HTTP://A.B/C NOW, please_wait"
    keep = [(4, 16), (22, 33)]
    assert is_shouted("OPEN the_file_name NOW", [(5, 18)])
    assert not is_shouted("OPEN the_file_name NOW")
    lowered = sentence_case(text, keep)
    assert lowered.after == "See HTTP://A.B/C now, please_wait"
    assert shout(lowered.after, keep).after == text
    assert sentence_case("{A} IS HERE", [(0, 3)]).after == "{A} is here"


def test_positions_map_when_a_letter_becomes_two() -> None:
    shouted = shout("die Straße ist naß")
    assert shouted.after == "DIE STRASSE IST NASS"
    assert shouted.after[slice(*shouted.forth((4, 10)))] == "STRASSE"
    assert shouted.before[slice(*shouted.back((16, 20)))] == "naß"
