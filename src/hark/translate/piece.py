"""Translates one piece of text, a sentence or a part of one, and retries in safer ways if the result is faulty."""

import math
from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass, field, replace

from hark.config import DecodeConfig
from hark.engine.interface import Hypotheses, Request
from hark.text import protect, spelling
from hark.text.address import Address, Formality, addresses, contradicts, form_of
from hark.text.protect import Item
from hark.text.rewrite import Rewriting
from hark.text.rules import ON, Rules
from hark.text.terms import Terms
from hark.text.vocabulary import Coder
from hark.translate import attempts
from hark.translate.align import word_spans
from hark.translate.attempts import Attempt
from hark.translate.readings import Candidate, best_candidate, is_long, is_short
from hark.translate.second_look import is_uncertain, judge, look_again
from hark.translate.tasks import Task
from hark.translate.translation import Alternative, Flag, Piece, Reason

CONTENT = 4
"""Minimum letters of a missing word that is reported; shorter words are often rightly left out."""
UNSURE = 0.45
"""Mean negative log-probability per token above which a translation counts as unsure, unless the model's facts have a
threshold of its own. Measured: docs/trust.md."""
EDGES = ".,;:!?…()[]\"'“”„‘’"


@dataclass(frozen=True)
class Options:
    """How to translate a text."""

    search: DecodeConfig = field(default_factory=DecodeConfig)
    split: bool = True
    """Whether to split lines into sentences; otherwise each line is one, as in line-aligned corpora."""
    align: bool = False
    """Whether to return the word alignment."""
    protect: bool = True
    """Whether addresses, placeholders, tags, numbers with units and unknown characters must come out unchanged."""
    source: str | None = None
    """The language of the text; None: the model's source language."""
    target: str | None = None
    """The language to translate to, for multilingual models; None: the model's target language."""
    urgent: bool = False
    """Whether the request is interactive."""
    join: bool = True
    """Whether to join the lines of a hard-wrapped paragraph, and to wrap its translation again."""
    tidy: bool = True
    """Whether to correct missing apostrophes and umlauts (dont, schoen) in the model's input."""
    detect: bool = True
    """Whether to leave sentences untranslated that are not in the source language."""
    detected: bool = False
    """Whether the source language was detected: then sentences in other languages of the model are translated too."""
    written_in: str | None = None
    """The language of the text if it is not to be translated: the target language, or one that no model knows. Its
    sentences are kept, unless they are clearly in a source language of the model."""
    terms: Terms | None = None
    """The terms of a glossary: their translations appear in the translation as given."""
    formality: Formality | None = None
    """The form of address. auto: the one that suits the text; None: the model decides for each sentence, which is for
    lines that are independent."""
    second_look: bool = False
    """Whether the model, if it knows the reverse direction, looks again at translations that are not certain."""
    rules: Rules = ON
    """The rules that write part of a translation, see `text/rules.py`."""


def translate_piece(
    text: str, coder: Coder, options: Options, languages: tuple[str, str], inner: bool = False, unsure: float = UNSURE
) -> Task[Piece]:
    """Translate a piece; if the result is faulty, retry in safer ways and return the best.

    `languages` are those of text and translation; `inner` means that the sentence continues after the piece; `unsure`
    is the mean negative log-probability per token above which it is flagged. No text is lost, whatever the engine
    answers: what it does not translate is kept as it is.
    """
    typed = tidy(text, coder, options, languages[0])
    if typed is None:
        return (yield from _translate(text, coder, options, languages, inner, unsure))
    plain = replace(options, second_look=False)  # which could not tell what was typed wrongly
    return as_typed((yield from _translate(typed.after, coder, plain, languages, inner, unsure)), typed)


def tidy(text: str, coder: Coder, options: Options, language: str) -> Rewriting | None:
    """Correct typing errors; None if there are none, or they are not to be corrected."""
    if not (options.tidy and "typing" in options.rules):
        return None
    typed = spelling.tidy(text, language)
    if typed is not None and (options.protect or options.terms):
        typed = spelling.tidy(text, language, [item.span for item in find_items(text, coder, options)])
    return typed


def as_typed(piece: Piece, typed: Rewriting) -> Piece:
    """Return the translation of corrected text as that of the text as it was typed."""
    if piece.text == typed.after:  # the model copied its input: keep what was typed
        return replace(piece, source=typed.before, text=typed.before, links=())
    links = tuple(replace(link, source=typed.back(link.source)) for link in piece.links)
    flags: set[Flag] = {*piece.flags} if "copied" in piece.flags else {*piece.flags, "tidied"}
    return replace(piece, source=typed.before, links=links, flags=frozenset(flags))


def _translate(
    text: str, coder: Coder, options: Options, languages: tuple[str, str], inner: bool, unsure: float
) -> Task[Piece]:
    """Translate a piece in the form of address that is wanted, if it addresses somebody."""
    wanted = address_of(options)
    if wanted is None or addresses(text, languages[0]):
        return (yield from _translate_as(text, coder, options, languages, inner, unsure))
    # The model learnt what the symbol means on text that addresses somebody: elsewhere, it would invent a reader.
    plain = replace(options, formality=None)
    piece = yield from _translate_as(text, coder, plain, languages, inner, unsure)
    if contradicts(piece.text, wanted, languages[1]):  # it addresses somebody in a way that does not show in the source
        other = yield from _translate_as(text, coder, options, languages, inner, unsure)
        if form_of(other.text, languages[1]) == wanted and len(other.reasons) <= len(piece.reasons):
            return other
    return piece


def address_of(options: Options) -> Address | None:
    """The form of address to ask the model for, as `Translator.submit` has chosen it."""
    return None if options.formality == "auto" else options.formality


def _translate_as(
    text: str, coder: Coder, options: Options, languages: tuple[str, str], inner: bool, unsure: float
) -> Task[Piece]:
    items = find_items(text, coder, options, *languages)
    if not protect.has_words(text, items):
        copy = Rewriting.of(text, ((item.span, item.written or item.text) for item in items)).after
        return Piece(text, copy, flags=frozenset({"copied"}))
    plain = attempts.whole_piece(text, items, options.search, inner)
    first = [plain]
    if attempts.is_shouted(text, [item.span for item in items]):
        first.append(attempts.in_sentence_case(plain))
    tried = yield from _try(first, coder, options, languages)
    best = min(tried, key=lambda each: each.rank)
    flags: set[Flag] = set()
    if best.faults:
        best, flags = yield from _rescue(text, items, best, coder, options, languages, inner)
        flags.add("retried")
    piece = yield from _check_piece(text, best, coder, options, unsure, flags)
    known = options.second_look and not inner and coder.knows(languages[1], languages[0])
    if not (known and is_uncertain(text, piece.flags, best.doubt)) or has_unseen(find_items(text, coder, options)):
        return piece
    chosen, nll = yield from look_again(text, best, coder, told(options), languages, options.protect)
    if chosen is not best:
        known_texts = [Alternative(best.text, best.score), *best.alternatives]
        others = [each for each in known_texts if each.text != chosen.text]
        chosen = replace(chosen, alternatives=tuple(others[: options.search.nbest - 1]))
        piece = yield from _check_piece(text, chosen, coder, options, unsure, flags | {"retried"})
    if nll is None:
        return piece
    judged, reasons = judge(piece.flags, piece.reasons, nll)
    return replace(piece, flags=frozenset(judged), reasons=tuple(reasons))


def told(options: Options) -> tuple[bool, str | None, str | None, Address | None]:
    """What an attempt needs to know: whether the alignment is wanted, target, source and form of address."""
    return options.align, options.target, options.source, address_of(options)


def _check_piece(
    text: str, best: Candidate, coder: Coder, options: Options, unsure: float, care: Collection[Flag]
) -> Task[Piece]:
    missing = (yield from _find_missing_words(best, coder, options)) if is_short(text, best.text) else []
    return make_piece(text, best, options, unsure, care, missing)


def make_piece(
    text: str,
    best: Candidate,
    options: Options,
    unsure: float,
    care: Collection[Flag] = (),
    missing: Sequence[Reason] = (),
) -> Piece:
    """Return the piece of a translation; `care` and `missing` are flags and reasons beyond those of the candidate."""
    flags: set[Flag] = {*care}
    if any(query.shouted for query in best.attempt.queries):
        flags.add("recased")
    if any(reading.repaired for reading in best.readings):
        flags.add("repaired")
    if "empty" in best.faults:
        flags.add("untranslated")
    reasons = [*best.reasons, *missing]
    if is_long(text, best.text) and not best.faults & {"looped", "length"}:
        reasons.append(Reason("invented"))
    if best.doubt > unsure and "empty" not in best.faults:
        reasons.append(Reason("unsure", f"{math.exp(-best.doubt):.0%}"))
    flags |= {reason.flag for reason in reasons}
    links = best.links if options.align else ()
    return Piece(text, best.text, best.score, best.tokens, frozenset(flags), tuple(reasons), links, best.alternatives)


def find_items(text: str, coder: Coder, options: Options, source: str = "", target: str = "") -> tuple[Item, ...]:
    """The items of a text that must come out unchanged or as given."""
    if options.protect:
        return protect.find(text, coder.unknown, source, target, options.terms, options.rules)
    return protect.find_terms(text, options.terms)


def has_unseen(items: Sequence[Item]) -> bool:
    """Whether the model never sees some of the items, so that it has no say on a text with them."""
    return any(item.opaque or item.mark for item in items)


def _find_missing_words(
    best: Candidate, coder: Coder, options: Options
) -> Generator[Sequence[Request], Sequence[Hypotheses], list[Reason]]:
    """Report source words that no word of a short translation is aligned with."""
    requests = best.attempt.requests(coder, True, options.target, options.source, address_of(options))
    answers = yield requests
    aligned = best_candidate(best.attempt, requests, answers, coder, 1)
    missing = []
    for query, reading in zip(best.attempt.queries, aligned.readings, strict=True):
        if not reading.links:
            continue
        for start, end in word_spans(query.rewriting.before):
            word = query.rewriting.before[start:end].strip(EDGES)
            linked = any(
                link.source[0] < query.start + end and query.start + start < link.source[1] for link in reading.links
            )
            if len(word) >= CONTENT and not linked:
                missing.append(word)
    return [Reason("lost", ", ".join(missing))] if missing else []


def _try(
    ways: Sequence[Attempt], coder: Coder, options: Options, languages: tuple[str, str]
) -> Generator[Sequence[Request], Sequence[Hypotheses], list[Candidate]]:
    """Make attempts concurrently."""
    submitted = [attempt.requests(coder, *told(options)) for attempt in ways]
    answers = iter((yield [request for requests in submitted for request in requests]))
    checked = languages if options.protect else None
    return [
        best_candidate(attempt, requests, [next(answers) for _ in requests], coder, options.search.nbest, checked)
        for attempt, requests in zip(ways, submitted, strict=True)
    ]


def _rescue(
    text: str,
    items: Sequence[Item],
    best: Candidate,
    coder: Coder,
    options: Options,
    languages: tuple[str, str],
    inner: bool,
) -> Generator[Sequence[Request], Sequence[Hypotheses], tuple[Candidate, set[Flag]]]:
    """Try safer strategies one after another until one has no fault; return the best candidate and its flags."""
    safe = attempts.safer(options.search)
    first, flags = best.attempt, set[Flag]()
    for way in ("wider", "masked", "parts"):
        lost = [item for item in best.lost if item.exact]
        attempt: Attempt | None = None
        match way:
            case "wider":
                attempt = Attempt(first.parts, safe)
            case "masked" if best.numbers or any(not item.mark for item in lost):
                figures = protect.figures(text, *languages, options.rules) if best.numbers else ()
                attempt = attempts.with_all_masked(first, figures, safe)
            case "parts" if lost:
                attempt = attempts.around_items(text, items, safe, inner)
            case "parts" if best.faults - {"changed", "number", "limit"}:
                attempt = attempts.in_halves(text, items, safe, inner)
        if attempt is None or not attempt.queries:
            continue
        [candidate] = yield from _try([attempt], coder, options, languages)
        if candidate.rank < best.rank:
            best = candidate
            flags = (
                {"repaired"} if way != "wider" and (lost or best.numbers) else {"split"} if way == "parts" else set()
            )
        if not best.faults:
            break
    return best, flags
