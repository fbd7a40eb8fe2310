"""Translates consecutive sentences of a paragraph as one text, so that the model sees what they refer to.

Each sentence is prepared as if it were alone; their inputs together are one request. Its translation is divided into
sentences again, which are read and checked as if each had been translated alone. A sentence that fails a check is
translated alone, and so are all if the translation cannot be divided.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise, takewhile

import numpy as np
from numpy.typing import NDArray

from hark.engine.request import Hypotheses, Hypothesis, Request, ScoreRequest, length_penalty
from hark.text import normalise as case
from hark.text import protect
from hark.text.address import addresses, contradicts
from hark.text.rewrite import Rewriting, Span
from hark.text.sentences import split_sentences
from hark.text.vocabulary import SPACE
from hark.translate.assembly import Pieces
from hark.translate.attempts import Attempt, whole_piece
from hark.translate.coder import Coder
from hark.translate.faults import is_short
from hark.translate.piece import Options, Piece, address_of, as_typed, find_items, make_piece, tidy, translate_piece
from hark.translate.readings import best_candidate
from hark.translate.tasks import Task, together

SENTENCES = 5
"""Most sentences of a request, as in training."""
CERTAIN = 0.6
"""Share of the threshold for `unsure` up to which a translation of several sentences is so sure that none of them is
unsure. Otherwise each of its tokens is scored, which takes a third of the time of the search."""
CLOSE = ("", " ", "  ")
"""Gaps between sentences that belong together; others separate columns, lines and items of lists."""


@dataclass(frozen=True)
class PreparedSentence:
    """A sentence that the model can translate together with others."""

    text: str
    """Without typing errors."""
    typed: Rewriting | None
    attempt: Attempt
    request: Request
    """For the sentence alone."""
    tokens: Sequence[int]


@dataclass(frozen=True, eq=False)
class PlainSentence:
    """A whole sentence that is to be translated by the model, and how."""

    source: str
    gap: str | None
    """What separates it from the sentence before; None: it is the first of its text."""
    coder: Coder
    options: Options
    languages: tuple[str, str]
    unsure: float

    @cached_property
    def prepared(self) -> PreparedSentence | None:
        """None if it has to be translated alone, because it has no words, or is in capitals."""
        options = self.options
        typed = tidy(self.source, self.coder, options, self.languages[0])
        text = self.source if typed is None else typed.after
        items = find_items(text, self.coder, options, *self.languages)
        if not protect.has_words(text, items) or case.is_shouted(text, [item.span for item in items]):
            return None
        attempt = whole_piece(text, items, options.search, inner=False)
        (request,) = attempt.requests(self.coder, True, options.target, options.source)
        tokens = self.coder.split_lead(request.source[:-1])[1]
        return PreparedSentence(text, typed, attempt, request, tokens)

    def alone(self) -> Task[Piece]:
        return translate_piece(self.source, self.coder, self.options, self.languages, unsure=self.unsure)

    def read(self, prepared: PreparedSentence, hypotheses: Hypotheses) -> Piece | None:
        """Read its part of a translation; None if it fails a check, or is a copy of the source."""
        options, text = self.options, prepared.text
        checked = self.languages if options.protect else None
        nbest = options.search.nbest
        best = best_candidate(prepared.attempt, [prepared.request], [hypotheses], self.coder, nbest, checked)
        piece = make_piece(text, best, options, self.unsure)
        failed = piece.reasons or best.faults or piece.text == text or is_short(text, piece.text)
        if failed or contradicts(piece.text, address_of(options), self.languages[1]):
            return None
        return piece if prepared.typed is None else as_typed(piece, prepared.typed)


@dataclass(frozen=True, eq=False)
class PieceJob:
    """The work on one piece of a text."""

    key: Hashable
    """Jobs with the same key have the same result; None: not shared."""
    task: Task[Piece]
    plain: PlainSentence | None = None
    """Set if it may be translated together with its neighbours."""


def group_jobs(jobs: Iterable[PieceJob], limit: int) -> Iterator[list[PieceJob]]:
    """Yield jobs in order, together those that are translated as one text of at most `limit` tokens."""
    held: list[PieceJob] = []
    room = 0
    for job in jobs:
        if held and (length := _fitting(held, job, room)):
            room -= length
        else:
            if held:
                yield held
            held, room = [], limit
        held.append(job)
    if held:
        yield held


def _fitting(held: Sequence[PieceJob], job: PieceJob, room: int) -> int:
    """The tokens by which a job lengthens the text of those that are held; 0 if it does not belong to it or fit."""
    before, plain = held[-1].plain, job.plain
    if before is None or plain is None or plain.gap not in CLOSE or len(held) == SENTENCES:
        return 0
    if not room or (before.languages, before.options) != (plain.languages, plain.options) or not plain.options.context:
        return 0
    if before.prepared is None or plain.prepared is None:
        return 0
    length = len(plain.prepared.tokens) + (len(before.prepared.tokens) if len(held) == 1 else 0)
    return length if length <= room else 0


def task_of(jobs: Sequence[PieceJob]) -> tuple[Hashable, Task[Pieces]]:
    """Return the task of a group of jobs, with its key."""
    if len(jobs) == 1:
        return jobs[0].key, _translate_alone(jobs[0].task)
    keys = tuple(job.key for job in jobs)
    plain = [job.plain for job in jobs if job.plain is not None]
    return None if None in keys else keys, translate_together(plain)


def _translate_alone(task: Task[Piece]) -> Task[Pieces]:
    return ((yield from task),)


def translate_together(sentences: Sequence[PlainSentence]) -> Task[Pieces]:
    """Translate sentences as one text, and those alone that fail a check."""
    pieces: list[Piece | None] = [None] * len(sentences)
    prepared = [each.prepared for each in sentences if each.prepared is not None]
    request = _joint_request(sentences, prepared)
    if request is not None:
        [hypotheses] = yield [request]
        lengths = [len(each.tokens) for each in prepared]
        coder, language = sentences[0].coder, sentences[0].languages[1]
        divided = [divide(hypothesis, request, lengths, coder, language) for hypothesis in hypotheses]
        if divided and divided[0] is not None:
            best = hypotheses[0]
            if -best.log_prob > CERTAIN * sentences[0].unsure * (len(best.tokens) + 1):
                [[scored]] = yield [ScoreRequest(request.source, request.search, translation=best.tokens)]
                best = replace(best, log_probs=scored.log_probs)
                divided[0] = divide(best, request, lengths, coder, language)
            parts = zip(*(each for each in divided if each is not None), strict=True)
            pieces = [each.read(*own) for each, own in zip(sentences, zip(prepared, parts, strict=True), strict=True)]
    alone = [place for place, piece in enumerate(pieces) if piece is None]
    for place, piece in zip(alone, (yield from together([sentences[i].alone() for i in alone])), strict=True):
        pieces[place] = piece
    return tuple(piece for piece in pieces if piece is not None)


def _joint_request(sentences: Sequence[PlainSentence], prepared: Sequence[PreparedSentence]) -> Request | None:
    """The request for sentences together; None if their tokens would not be those of each."""
    first = sentences[0]
    coder, options = first.coder, first.options
    wanted = address_of(options)
    if not any(addresses(each.text, first.languages[0]) for each in prepared):
        wanted = None
    gaps = ["", *(" " if each.gap else "" for each in sentences[1:])]
    inputs = (each.attempt.queries[0].model_input for each in prepared)
    text = "".join(gap + each for gap, each in zip(gaps, inputs, strict=True))
    source = coder.source_ids(text, options.target, options.source, wanted)
    if [*coder.split_lead(source[:-1])[1]] != [token for each in prepared for token in each.tokens]:
        return None
    return replace(prepared[0].request, source=source, attention=True)


OWN = 0.6
"""Minimum share of a translated sentence's attention that its source has among all sentences."""


def divide(
    hypothesis: Hypothesis, request: Request, lengths: Sequence[int], coder: Coder, language: str
) -> list[Hypothesis] | None:
    """Return the hypothesis of each sentence; None unless it is clear where each translation begins and ends.

    `lengths`: the tokens of each sentence in the request; `language`: that of the translation. The log-probability is
    shared out as that of its tokens if the hypothesis has been scored, else by length.
    """
    if hypothesis.attention_TS is None or not hypothesis.complete:
        return None
    first = sum(1 for _ in takewhile(coder.target.is_special, hypothesis.tokens))
    tokens, attention_TS = hypothesis.tokens[first:], hypothesis.attention_TS[first:]
    source = coder.split_lead(request.source[:-1])[1]
    begin = len(request.source) - 1 - len(source)
    ends = list(accumulate(lengths, initial=begin))
    columns = [slice(start, end) for start, end in pairwise(ends)]
    solid_S = is_solid(coder.source.pieces(source))
    pieces = coder.target.pieces(tokens)
    weights_TN = np.stack(
        [attention_TS[:, each] @ solid_S[each.start - begin : each.stop - begin] for each in columns], axis=1
    )
    spans = assign(split_tokens(pieces, language), weights_TN * is_solid(pieces)[:, None])
    if spans is None:
        return None
    lead, log_probs = coder.source.lead, hypothesis.log_probs[first:] or (-1.0,) * len(tokens)
    rate = hypothesis.log_prob / (sum(log_probs) or -1.0)
    return [
        share(
            replace(
                hypothesis,
                tokens=tokens[start:end],
                attention_TS=np.hstack([attention_TS[start:end, :lead], attention_TS[start:end, each]]),
            ),
            rate * sum(log_probs[start:end]),
            request.search.alpha,
        )
        for (start, end), each in zip(spans, columns, strict=True)
    ]


def share(part: Hypothesis, log_prob: float, alpha: float) -> Hypothesis:
    """Give a part of a hypothesis its share of the log-probability. Its length counts an end, as everywhere."""
    length = len(part.tokens) + 1
    return replace(part, log_prob=log_prob, score=log_prob / length_penalty(length, alpha), log_probs=())


def is_solid(pieces: Sequence[str]) -> NDArray[np.float32]:
    """1 for pieces with letters or digits: full stops look at full stops, whatever sentence they end."""
    return np.array([any(map(str.isalnum, piece)) for piece in pieces], np.float32)


def split_tokens(pieces: Sequence[str], language: str) -> list[Span]:
    """The spans of the sentences in the tokens of a text; an end within a token is none."""
    text = "".join(pieces).replace(SPACE, " ")
    places = {place: token for token, place in enumerate(accumulate(map(len, pieces[:-1]), initial=0))}
    ends = accumulate(map(len, split_sentences(text, language)))
    cuts = [places.get(end - 1 if text[end - 1 : end].isspace() else end) for end in ends]
    return list(pairwise([0, *(cut for cut in cuts if cut), len(pieces)]))


def assign(spans: Sequence[Span], weights_TN: NDArray[np.float32]) -> list[Span] | None:
    """Join the spans of each source sentence, the one with most of their attention; None if this leaves a sentence
    without translation, changes their order, or is in doubt."""
    joined: list[Span] = []
    for start, end in spans:
        weights_N = weights_TN[start:end].sum(axis=0)
        owner = int(weights_N.argmax()) if weights_N.any() else len(joined) - 1
        if owner == len(joined):
            joined.append((start, end))
        elif joined and owner == len(joined) - 1:
            joined[-1] = joined[-1][0], end
        else:
            return None
    sums = [weights_TN[start:end].sum(axis=0) for start, end in joined]
    if len(joined) < weights_TN.shape[1] or any(each[i] < OWN * each.sum() for i, each in enumerate(sums)):
        return None
    return joined
