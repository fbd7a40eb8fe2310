"""The evaluation as one self-contained HTML page: scores, charts and example sentences."""

from collections.abc import Iterator, Sequence
from html import escape

from hark.evaluate.directions import matrix_section
from hark.evaluate.evaluation import Evaluation, SetResult, SystemResult
from hark.evaluate.examples import Example, Examples, ExampleTranslation
from hark.evaluate.measures import NOTES, TITLES, Measure, decimals
from hark.evaluate.scores import Score
from hark.pages.charts import round_step
from hark.pages.document import document, page_style, read_asset, visible
from hark.pages.formats import count, plural
from hark.translate.align import Link

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 960, 240, 40, 20, 54  # of a chart, in SVG units
SIGNIFICANT = 0.05


def render(evaluation: Evaluation, examples: Sequence[Examples]) -> str:
    """Render the page."""
    title = " · ".join(system.name for system in evaluation.sets[0].systems)
    body = (
        f'<main>\n<header><p class="over">Hark evaluation</p>\n<h1>{escape(title)}</h1></header>\n'
        + (matrix_section(evaluation) if evaluation.has_matrix else scores_section(evaluation))
        + "".join(map(examples_section, examples))
        + ("" if evaluation.has_matrix else lengths_section(evaluation))
        + speed_section(evaluation)
        + signatures_section(evaluation)
        + "<footer>Made by <code>hark evaluate</code>. For JSON, use <code>--json</code>.</footer>\n</main>\n"
    )
    style, script = page_style(read_asset("hark.evaluate", "page.css")), read_asset("hark.evaluate", "page.js")
    return document(f"{title} · hark evaluation", style, body, script)


def scores_section(evaluation: Evaluation) -> str:
    several = len(evaluation.sets[0].systems) > 1
    note = "Corpus-level scores; signatures are at the end of the page."
    if evaluation.resamples:
        note += f" ± is half of the 95% confidence interval ({count(evaluation.resamples)} bootstrap resamples)."
        if several:
            note += (
                " p is the p-value of the difference from the first system (one-sided paired bootstrap); bold if below"
                f" {SIGNIFICANT}."
            )
    heads = "".join(f'<th title="{escape(NOTES[each])}">{escape(TITLES[each])}</th>' for each in evaluation.signatures)
    rows = "".join(
        f'<tr class="set"><td colspan="{len(evaluation.signatures) + 1}">{escape(each.held_out.name)}'
        f"<small>{plural(len(each.held_out), 'sentence')}</small></td></tr>"
        + "".join(score_row(at, system, list(evaluation.signatures)) for at, system in enumerate(each.systems))
        for each in evaluation.sets
    )
    return (
        f'<section><h2>Scores</h2>\n<p class="note">{note}</p>\n'
        f'<div class="scroll"><table><tr><th>System</th>{heads}</tr>{rows}</table></div></section>\n'
    )


def score_row(at: int, system: SystemResult, measures: Sequence[Measure]) -> str:
    cells = "".join(f"<td>{score_cell(system.scores[each], decimals(each))}</td>" for each in measures)
    return f"<tr><td>{swatch(at)}{escape(system.name)}</td>{cells}</tr>"


def score_cell(score: Score, places: int) -> str:
    text = f"{score.value:.{places}f}"
    if score.confidence is not None:
        text += f" <small>±{score.confidence:.{places}f}</small>"
    if score.p is not None:
        name = "b" if score.p < SIGNIFICANT else "span"
        text += f' <{name} class="p">p={score.p:.3f}</{name}>'
    return text


def signatures_section(evaluation: Evaluation) -> str:
    rows = "".join(
        f"<tr><td>{escape(TITLES[name])}</td><td><code>{escape(signature)}</code><small>{escape(NOTES[name])}</small>"
        "</td></tr>"
        for name, signature in evaluation.signatures.items()
    )
    return f'<section><h2>Signatures</h2>\n<div class="scroll"><table class="words">{rows}</table></div></section>\n'


def speed_section(evaluation: Evaluation) -> str:
    rows = "".join(
        f"<tr><td>{swatch(at)}{escape(system.name)}</td><td>{escape(each.held_out.name)}</td>"
        f"<td>{speed.sentences_per_second:,.1f}</td><td>{speed.tokens_per_second:,.0f}</td>"
        f"<td>{speed.seconds:,.1f} s</td><td>{speed.load_seconds:.2f} s</td><td>{escape(speed.engine)}</td>"
        f"<td>{count(system.output.doubtful)}</td></tr>"
        for each in evaluation.sets
        for at, system in enumerate(each.systems)
        if (speed := system.output.speed)
    )
    if not rows:
        return ""
    return (
        '<section><h2>Speed</h2>\n<p class="note">From text to text, in tokens of the translations. Loading includes '
        "the first sentence. Doubtful: translations that the system itself flags.</p>\n"
        '<div class="scroll"><table><tr><th>System</th><th>Set</th><th>Sentences/s</th><th>Tokens/s</th><th>Time</th>'
        f"<th>Loading</th><th>Engine</th><th>Doubtful</th></tr>{rows}</table></div></section>\n"
    )


def lengths_section(evaluation: Evaluation) -> str:
    charts = "".join(map(lengths_figure, evaluation.sets))
    return (
        '<section><h2>By length</h2>\n<p class="note">BLEU by number of source tokens. Groups of few sentences are '
        f"unreliable.</p>\n{charts}</section>\n"
    )


def lengths_figure(result: SetResult) -> str:
    """A bar chart with one group per length and one bar per system."""
    systems = result.systems
    groups = systems[0].by_length
    top = max(group.bleu for system in systems for group in system.by_length)
    step = round_step(top / 4) if top else 1
    reach = max(-(-top // step) * step, 1)
    span, rise = (WIDTH - LEFT) / len(groups), HEIGHT - TOP - BOTTOM
    bar = min(0.7 * span / len(systems), 56)
    parts = []
    for mark in range(0, int(reach) + 1, step):
        y = TOP + rise * (1 - mark / reach)
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="end" x="{LEFT - 6}" y="{y + 4:.1f}">{mark}</text>'
        )
    for number, group in enumerate(groups):
        middle = LEFT + span * (number + 0.5)
        for at, system in enumerate(systems):
            here = system.by_length[number]
            tall = rise * here.bleu / reach
            x = middle + bar * (at - len(systems) / 2)
            tooltip = f"{system.name}, {group.name} tokens: BLEU {here.bleu:.1f}, chrF2 {here.chrf2:.1f}"
            parts.append(
                f'<rect x="{x + 1:.1f}" y="{TOP + rise - tall:.1f}" width="{bar - 2:.1f}" height="{tall:.1f}"'
                f' style="fill:var(--s{at % 6})"><title>{escape(tooltip)}</title></rect>'
            )
            if bar >= 28:
                parts.append(
                    f'<text class="middle" x="{x + bar / 2:.1f}" y="{TOP + rise - tall - 5:.1f}">{here.bleu:.1f}</text>'
                )
        parts.append(
            f'<text class="middle" x="{middle:.1f}" y="{TOP + rise + 18}">{group.name}</text>'
            f'<text class="mid few" x="{middle:.1f}" y="{TOP + rise + 34}">'
            f"{plural(group.sentences, 'sentence')}</text>"
        )
    key = "".join(f"<span>{swatch(at)}{escape(system.name)}</span>" for at, system in enumerate(systems))
    name = escape(result.held_out.name)
    return (
        f'<figure><figcaption><b>{name}</b><span class="key">{key}</span></figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="BLEU by source length, {name}">'
        f"{''.join(parts)}</svg></figure>\n"
    )


def examples_section(examples: Examples) -> str:
    first = examples.worst[0].candidates[0].system
    worst = "".join(example_item(each, None) for each in examples.worst)
    changed = "".join(example_item(each, each.change) for each in examples.changed)
    has_insight = any(candidate.insight for each in examples.worst for candidate in each.candidates)
    hint = (
        " Point at a word to see the word aligned with it, and at a translation to see alternatives."
        if has_insight
        else ""
    )
    parts = (
        f"<section><h2>Worst sentences of {escape(examples.name)}</h2>\n"
        f'<p class="note">By chrF2 of {escape(first)}.{hint}</p>\n<ol class="examples">{worst}</ol></section>\n'
    )
    if changed:
        second = examples.changed[0].candidates[1].system
        parts += (
            f"<section><h2>Most changed sentences of {escape(examples.name)}</h2>\n"
            f'<p class="note">By difference in chrF2 between {escape(first)} and {escape(second)}.{hint}</p>\n'
            f'<ol class="examples">{changed}</ol></section>\n'
        )
    return parts


def example_item(example: Example, change: float | None) -> str:
    more = "" if change is None else f'<span class="{"up" if change >= 0 else "down"}">{change:+.1f}</span>'
    links = [link for each in example.candidates for link in links_of(each)]
    source = marked(example.source, sorted({link.source for link in links}), "source")
    candidates = "".join(candidate_line(at, each) for at, each in enumerate(example.candidates))
    return (
        f'<li><div class="where">line {count(example.line)}{more}</div>'
        f'<p class="line"><span class="who">source</span><span dir="auto">{source}</span></p>'
        f'<p class="line"><span class="who">reference</span><span dir="auto">{visible(example.reference)}</span></p>'
        f"{candidates}</li>\n"
    )


def candidate_line(at: int, candidate: ExampleTranslation) -> str:
    links = {link.target: link for link in links_of(candidate)}
    text = marked(candidate.text, sorted(links), "target", links) or '<i class="gone">empty</i>'
    alternatives = candidate.insight.alternatives if candidate.insight else ()
    nbest = "".join(
        f'<li><span class="num">{each.score:.3f}</span><span dir="auto">{visible(each.text)}</span></li>'
        for each in alternatives
    )
    more = f'<ol class="nbest">{nbest}</ol>' if nbest else ""
    focus = ' tabindex="0"' if nbest else ""
    return (
        f'<div class="line candidate"{focus}><span class="who">{swatch(at)}{escape(candidate.system)}'
        f' <small>{candidate.chrf2:.1f}</small></span><span dir="auto">{text}</span>{more}</div>'
    )


def links_of(candidate: ExampleTranslation) -> tuple[Link, ...]:
    """The word alignment, if it is of the text shown."""
    insight = candidate.insight
    return insight.links if insight and insight.text == candidate.text else ()


def marked(
    text: str, spans: Sequence[tuple[int, int]], side: str, links: dict[tuple[int, int], Link] | None = None
) -> str:
    """Escape a text and wrap its aligned words in elements that carry the start of the source word."""
    return "".join(marked_parts(text, spans, side, links or {}))


def marked_parts(
    text: str, spans: Sequence[tuple[int, int]], side: str, links: dict[tuple[int, int], Link]
) -> Iterator[str]:
    done = 0
    for span in spans:
        start, end = span
        link = links.get(span)
        to = link.source[0] if link else start
        title = f' title="{link.weight:.0%}"' if link else ""
        yield visible(text[done:start])
        yield f'<span class="w" data-{side}="{to}"{title}>{visible(text[start:end])}</span>'
        done = end
    yield visible(text[done:])


def swatch(at: int) -> str:
    return f'<i class="swatch" style="background:var(--s{at % 6})"></i>'
