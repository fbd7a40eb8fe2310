"""report.html: one page that needs nothing else, drawn with inline SVG, light or dark as the reader's machine is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from html import escape
from importlib.resources import files
from math import floor, log10

from hark.config import CleanConfig
from hark.data.filters import RULES
from hark.data.report import CorpusReport, Report, Side
from hark.data.tally import OCTAVES, Sample, ratio_edges

MEANINGS = {each.name: str(each.metadata["meaning"]) for each in fields(CleanConfig)}
BARS = 40  # at most, in a histogram of lengths
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 440, 212, 40, 20, 40  # of a picture, in its own units


def render(report: Report) -> str:
    """The whole page."""
    total = report.total
    style = files("hark.data").joinpath("report.css").read_text(encoding="utf-8")
    title = f"{report.source} → {report.target}"
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} · hark dataset report</title>\n<style>\n{style}</style>\n<main>\n"
        + header(report, total, title)
        + rules_section(report, total)
        + lengths_section(report, total)
        + vocabulary_section(report, total)
        + corpora_section(report, total)
        + "<footer>Made by <code>hark prepare</code>. The same figures are in report.json.</footer>\n</main>\n</html>\n"
    )


def header(report: Report, total: CorpusReport, title: str) -> str:
    figures = [
        ("Pairs read", count(total.read), f"from {plural(len(report.corpora), 'corpus', 'corpora')}"),
        ("Pairs kept", count(total.kept), f"{percent(total.kept, total.read)} of those read"),
        (f"Tokens, {report.source}", short(total.source.tokens), f"{total.source.mean_length:.1f} a sentence"),
        (f"Tokens, {report.target}", short(total.target.tokens), f"{total.target.mean_length:.1f} a sentence"),
    ]
    cells = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{value}<small>{escape(more)}</small></dd></div>"
        for name, value, more in figures
    )
    kinds = ", ".join(f"{escape(kind)} {count(number)}" for kind, number in sorted(total.augmented.items()))
    besides = f" Variants of them stand besides: {kinds}." if kinds else ""
    return (
        f'<header><p class="over">Hark dataset report</p>\n<h1>{escape(title)}</h1>\n'
        f'<p class="lead"><b>{count(total.kept)}</b> of {count(total.read)} training pairs are kept; '
        f"{count(total.read - total.kept)} were dropped by the rules below.{besides}</p>\n"
        f'<dl class="figures">{cells}</dl></header>\n'
    )


def rules_section(report: Report, total: CorpusReport) -> str:
    most = max(total.dropped.values(), default=0)
    rows = "".join(rule_row(report, total, number, rule, most) for number, rule in enumerate(RULES))
    return (
        "<section><h2>Where the pairs went</h2>\n"
        '<p class="note">A pair counts for the first rule that drops it. Open a rule to see what it dropped: '
        "up to ten pairs, chosen at random.</p>\n" + flow(total) + f'<div class="rules">{rows}</div></section>\n'
    )


def flow(total: CorpusReport) -> str:
    """Kept and dropped as one bar, and the dropped part of it, opened out by rule, as another below."""
    lost = total.read - total.kept
    if not total.read:
        return ""
    # Never thinner than a hair's breadth: what was dropped should be seen.
    at = 1000 * total.kept / total.read if not lost else min(1000 * total.kept / total.read, 997)
    parts = [
        f'<rect class="kept" x="0" y="0" width="{at:.2f}" height="34"><title>kept: {count(total.kept)}</title></rect>'
    ]
    if lost:
        parts.append(
            f'<rect class="lost" x="{at:.2f}" y="0" width="{1000 - at:.2f}" height="34">'
            f"<title>dropped: {count(lost)}</title></rect>"
            f'<path class="fan" d="M{at:.2f} 34H1000V62H0Z"/>'
        )
        x = 0.0
        for number, rule in enumerate(RULES):
            width = 1000 * total.dropped[rule] / lost
            if width:
                parts.append(
                    f'<rect x="{x:.2f}" y="62" width="{width:.2f}" height="34" style="fill:var(--c{number})">'
                    f"<title>{rule}: {count(total.dropped[rule])}, {percent(total.dropped[rule], lost)} of all dropped"
                    "</title></rect>"
                )
            x += width
    height = 96 if lost else 34
    words = f"kept {percent(total.kept, total.read)}, dropped {percent(lost, total.read)}"
    return (
        f'<div class="legend"><span><b>Kept</b> {percent(total.kept, total.read)}</span>'
        f"<span><b>Dropped</b> {percent(lost, total.read)}</span></div>\n"
        f'<svg class="flow" viewBox="0 0 1000 {height}" preserveAspectRatio="none" role="img" aria-label="{words}"'
        f' style="height:{height}px">{"".join(parts)}</svg>\n'
    )


def rule_row(report: Report, total: CorpusReport, number: int, rule: str, most: int) -> str:
    dropped = total.dropped[rule]
    value = report.clean.get(rule, True)
    if value is True:
        setting = ""
    elif value is False:
        setting = " <code>off</code>"
    else:
        setting = f" <code>{rule} = {value:g}</code>"
    meaning = escape(MEANINGS[rule].removeprefix("drop ").partition("; ")[0])
    colour = f"background:var(--c{number})"
    row = (
        f'<span class="dot" style="{colour}"></span><span class="name">{rule.replace("_", " ")}</span>'
        f'<span class="what">{meaning}{setting}</span>'
        f'<span class="bar"><i style="width:{100 * dropped / max(most, 1):.1f}%;{colour}"></i></span>'
        f'<span class="num">{count(dropped)}</span><span class="num share">{percent(dropped, total.read)}</span>'
    )
    if not dropped:
        return f'<div class="rule none row">{row}</div>\n'
    several = len(report.corpora) > 1
    samples = "".join(sample_item(report, each, several) for each in total.samples[rule])
    return f'<details class="rule"><summary class="row">{row}</summary><ol class="samples">{samples}</ol></details>\n'


def sample_item(report: Report, sample: Sample, several: bool) -> str:
    where = (f"{escape(sample.corpus)} " if several else "line ") + count(sample.line)
    sides = "".join(
        f'<p lang="{escape(language)}" dir="auto">{visible(text)}</p>' if text else '<p class="gone">empty</p>'
        for language, text in ((report.source, sample.source), (report.target, sample.target))
    )
    return f'<li><span class="where">{where}</span>{sides}</li>'


def lengths_section(report: Report, total: CorpusReport) -> str:
    limit = (
        f"{plural(total.too_long, 'pair has', 'pairs have')} a side of more than {count(report.max_length)} tokens, "
        "end mark included, and will be left out of training."
        if total.too_long
        else f"No pair is longer than the {count(report.max_length)} tokens that training allows."
    )
    edge = max(total.source.percentile(0.995), total.target.percentile(0.995), 10)
    return (
        f'<section><h2>Length</h2>\n<p class="note">{limit}</p>\n<div class="charts">'
        + lengths_figure(report.source, total.source, edge, "source")
        + lengths_figure(report.target, total.target, edge, "target")
        + ratios_figure(report, total)
        + percentiles_figure(report, total)
        + "</div></section>\n"
    )


@dataclass(frozen=True)
class Bar:
    start: float  # on the horizontal axis, as a share of it
    end: float
    pairs: int
    title: str


def lengths_figure(language: str, side: Side, edge: int, kind: str) -> str:
    """Sentences by their number of tokens; the few beyond `edge` are the last bar."""
    step = -(-edge // BARS)
    n_bars = -(-edge // step)
    total = sum(side.lengths)
    bars = []
    for number in range(n_bars + 1):
        low, high = number * step + 1, (number + 1) * step
        if number < n_bars:
            pairs, words = sum(side.lengths[low : high + 1]), f"{low} to {high} tokens" if step > 1 else f"{low} tokens"
        else:
            pairs, words = sum(side.lengths[low:]), f"{low} tokens or more"
        bars.append(
            Bar(
                number / (n_bars + 1),
                (number + 1) / (n_bars + 1),
                pairs,
                f"{words}: {count(pairs)}, {percent(pairs, total)}",
            )
        )
    jump = nice(n_bars * step / 6)
    ticks = [(at / step / (n_bars + 1), count(at)) for at in range(0, n_bars * step + 1, jump)]
    ticks.append(((n_bars + 0.5) / (n_bars + 1), "more"))
    if ticks[-2][0] > ticks[-1][0] - 0.07:
        del ticks[-2]
    median = side.percentile(0.5)
    caption = f"median {median} · 99% up to {side.percentile(0.99)}"
    middle = (median - 0.5) / step / (n_bars + 1)
    return figure(f"Length of sentences, {language}", caption, kind, bars, ticks, ("tokens", "sentences"), middle)


def ratios_figure(report: Report, total: CorpusReport) -> str:
    edges = ratio_edges()
    n_bars, pairs = len(edges) - 1, sum(total.ratios)
    bars = [
        Bar(
            number / n_bars,
            (number + 1) / n_bars,
            each,
            f"{edges[number]:.2f} to {edges[number + 1]:.2f}: {count(each)}, {percent(each, pairs)}",
        )
        for number, each in enumerate(total.ratios)
    ]
    names = {-3: "⅛", -2: "¼", -1: "½", 0: "1", 1: "2", 2: "4", 3: "8"}
    ticks = [
        ((power + OCTAVES) / (2 * OCTAVES) * (n_bars - 1) / n_bars + 0.5 / n_bars, name)
        for power, name in names.items()
    ]
    caption = "one bar for each 9%"
    return figure(
        "Ratio of tokens",
        caption,
        "ratio",
        bars,
        ticks,
        (f"{report.target} tokens for each {report.source} token", "pairs"),
    )


def percentiles_figure(report: Report, total: CorpusReport) -> str:
    """The same lengths in figures."""
    shares = (("half", 0.5), ("90%", 0.9), ("99%", 0.99), ("99.9%", 0.999))
    rows = "".join(
        f"<tr><td>{name} of sentences: at most</td>"
        f"<td>{count(total.source.percentile(share))}</td><td>{count(total.target.percentile(share))}</td></tr>"
        for name, share in shares
    )
    mean = f"<tr><td>mean</td><td>{total.source.mean_length:.1f}</td><td>{total.target.mean_length:.1f}</td></tr>"
    return (
        "<figure><figcaption><b>Tokens in a sentence</b></figcaption><table>"
        f"<tr><th></th><th>{escape(report.source)}</th><th>{escape(report.target)}</th></tr>{rows}{mean}</table></figure>\n"
    )


def figure(
    name: str,
    caption: str,
    kind: str,
    bars: Sequence[Bar],
    ticks: Sequence[tuple[float, str]],
    axes: tuple[str, str],
    median: float | None = None,
) -> str:
    """A histogram with its axes; each bar says its figures when it is pointed at."""
    top = max((bar.pairs for bar in bars), default=0)
    step = nice(top / 3) if top else 1
    reach = max(-(-top // step) * step, 1)
    span, rise = WIDTH - LEFT, HEIGHT - TOP - BOTTOM

    def x(share: float) -> float:
        return LEFT + span * share

    def y(pairs: float) -> float:
        return TOP + rise * (1 - pairs / reach)

    level, upright = axes
    parts = []
    for mark in range(0, reach + 1, step):
        line = "axis" if mark == 0 else "grid"
        parts.append(
            f'<line class="{line}" x1="{LEFT}" x2="{WIDTH}" y1="{y(mark):.1f}" y2="{y(mark):.1f}"/>'
            f'<text class="high" x="{LEFT - 6}" y="{y(mark) + 4:.1f}">{short(mark)}</text>'
        )
    parts.append('<g class="bars">')
    for bar in bars:
        # A transparent bar of full height below each one, so that low ones can be pointed at as well.
        place = f'x="{x(bar.start) + 0.5:.1f}" width="{max(span * (bar.end - bar.start) - 1, 0.6):.1f}"'
        tall = max(rise * bar.pairs / reach, 0.8 if bar.pairs else 0)
        parts.append(
            f"<g><title>{bar.title}</title>"
            f'<rect {place} y="{TOP}" height="{rise}" fill="transparent"/>'
            f'<rect class="{kind}" {place} y="{TOP + rise - tall:.1f}" height="{tall:.1f}"/></g>'
        )
    parts.append("</g>")
    if median is not None:
        parts.append(f'<line class="median" x1="{x(median):.1f}" x2="{x(median):.1f}" y1="{TOP}" y2="{TOP + rise}"/>')
    parts += [f'<text class="tick" x="{x(at):.1f}" y="{TOP + rise + 17}">{words}</text>' for at, words in ticks]
    parts.append(
        f'<text class="label" x="0" y="8">{escape(upright)}</text>'
        f'<text class="label tick" x="{x(0.5):.1f}" y="{HEIGHT - 5}">{escape(level)}</text>'
    )
    return (
        f"<figure><figcaption><b>{escape(name)}</b><span>{escape(caption)}</span></figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(name)}: {escape(caption)}">'
        f"{''.join(parts)}</svg></figure>\n"
    )


def vocabulary_section(report: Report, total: CorpusReport) -> str:
    facts = [
        fact(
            f"Vocabulary, {each.name}",
            percent(each.used, each.learnt),
            f"of {count(each.learnt)} learnt pieces are used; {count(each.size)} with bytes and special tokens",
            each.share,
            "kept",
        )
        for each in report.vocabularies
    ]
    for language, side, kind in ((report.source, total.source, "source"), (report.target, total.target, "target")):
        whole = percent(side.characters - side.byte_characters, side.characters)
        spelt = plural(side.byte_characters, "is", "are")
        facts.append(
            fact(
                f"Characters a token, {language}",
                f"{side.characters_per_token:.2f}",
                f"{whole} of characters are in whole pieces; {spelt} spelt out in bytes",
                side.whole,
                kind,
            )
        )
    return (
        '<section><h2>Vocabulary</h2>\n<p class="note">More characters a token mean shorter sequences and faster '
        'training.</p>\n<div class="facts">' + "".join(facts) + "</div></section>\n"
    )


def fact(name: str, value: str, more: str, share: float, colour: str) -> str:
    return (
        f'<div class="fact"><p>{escape(name)}</p><p class="big">{value}</p>'
        f'<div class="bar"><i style="width:{100 * share:.1f}%;background:var(--{colour})"></i></div>'
        f'<p class="small">{escape(more)}</p></div>\n'
    )


def corpora_section(report: Report, total: CorpusReport) -> str:
    rows = "".join(corpus_row(each) for each in report.corpora)
    if len(report.corpora) > 1:
        rows += corpus_row(total, "sum")
    sets = "".join(
        f"<tr><td>{escape(each.name)}</td><td>{escape(each.role)}</td><td>{count(each.pairs)}</td></tr>"
        for each in report.held_out
    )
    promise = (
        "No training pair has a side that stands in one of them."
        if report.clean.get("held_out", True)
        else "The rule held_out was off: training pairs may stand in them, and scores on them would say little."
    )
    held = (
        f'<section><h2>Dev and test sets</h2>\n<p class="note">Taken as they are. {promise}</p>\n'
        '<div class="scroll"><table><tr><th>Set</th><th>Use</th><th>Pairs</th></tr>'
        f"{sets}</table></div></section>\n"
    )
    return (
        '<section><h2>Training corpora</h2>\n<div class="scroll"><table><tr><th>Corpus</th><th>Read</th><th>Kept</th>'
        f"<th>Share</th><th>Tokens, {escape(report.source)}</th><th>Tokens, {escape(report.target)}</th>"
        f"<th>Too long</th></tr>{rows}</table></div></section>\n" + (held if report.held_out else "")
    )


def corpus_row(corpus: CorpusReport, kind: str = "") -> str:
    cells = (
        count(corpus.read),
        count(corpus.kept),
        percent(corpus.kept, corpus.read),
        count(corpus.source.tokens),
        count(corpus.target.tokens),
        count(corpus.too_long),
    )
    name = "All" if kind == "sum" else escape(corpus.name)
    return f'<tr class="{kind}"><td>{name}</td>{"".join(f"<td>{each}</td>" for each in cells)}</tr>'


def visible(text: str) -> str:
    """Escaped, with control characters shown as the pictures that Unicode has for them."""
    shown = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}
    return escape(text.translate(shown))


def count(number: int) -> str:
    return f"{number:,}"


def short(number: int) -> str:
    """Three figures are enough: 1.7M, 48k."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            value = number / size
            return (f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}") + letter
    return str(number)


def percent(part: int, whole: int) -> str:
    """With enough digits not to say 100% when something is missing, nor 0% when something is there."""
    share = 100 * part / whole if whole else 0.0
    rest = min(share, 100 - share)
    if not rest:
        return f"{share:.0f}%"
    return f"{share:.{1 if rest >= 1 else 1 - floor(log10(rest))}f}%"


def plural(number: int, one: str, many: str) -> str:
    return f"{count(number)} {one if number == 1 else many}"


def nice(number: float) -> int:
    """The least of 1, 2, 5, 10, 20, 50, ... that is not smaller."""
    return next(each for each in nice_numbers() if each >= number)


def nice_numbers() -> Iterator[int]:
    size = 1
    while True:
        yield from (size, 2 * size, 5 * size)
        size *= 10
