"""report.html: one page that needs nothing else, drawn with inline SVG, light or dark as the reader's machine is."""

from dataclasses import fields
from html import escape
from pathlib import Path

from hark.config import CleanConfig
from hark.data.filters import RULES
from hark.data.report import CorpusReport, DatasetReport, Side
from hark.data.tally import OCTAVES, DroppedPair, ratio_edges
from hark.pages.axes import round_step
from hark.pages.charts import Bar, histogram
from hark.pages.document import document, page_style, read_asset, visible
from hark.pages.formats import count, plural, share, short

MEANINGS = {each.name: str(each.metadata["meaning"]) for each in fields(CleanConfig)}
BARS = 40  # at most, in a histogram of lengths


def render(report: DatasetReport) -> str:
    """The whole page."""
    total = report.total
    title = f"{report.source} → {report.target}"
    body = (
        "<main>\n"
        + header(report, total, title)
        + rules_section(report, total)
        + lengths_section(report, total)
        + vocabulary_section(report, total)
        + corpora_section(report, total)
        + "<footer>Made by <code>hark prepare</code>. The same figures are in report.json.</footer>\n</main>\n"
    )
    return document(f"{title} · hark dataset report", page_style(read_asset("hark.data", "report.css")), body)


def write_report(report: DatasetReport, folder: Path) -> None:
    """Write report.json for programs, and report.html for people."""
    (folder / "report.json").write_text(report.to_json(), encoding="utf-8")
    (folder / "report.html").write_text(render(report), encoding="utf-8")


def header(report: DatasetReport, total: CorpusReport, title: str) -> str:
    figures = [
        ("Pairs read", count(total.read), f"from {plural(len(report.corpora), 'corpus', 'corpora')}"),
        ("Pairs kept", count(total.kept), f"{share(total.kept, total.read)} of those read"),
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


def rules_section(report: DatasetReport, total: CorpusReport) -> str:
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
                    f"<title>{rule}: {count(total.dropped[rule])}, {share(total.dropped[rule], lost)} of all dropped"
                    "</title></rect>"
                )
            x += width
    height = 96 if lost else 34
    words = f"kept {share(total.kept, total.read)}, dropped {share(lost, total.read)}"
    return (
        f'<div class="legend"><span><b>Kept</b> {share(total.kept, total.read)}</span>'
        f"<span><b>Dropped</b> {share(lost, total.read)}</span></div>\n"
        f'<svg class="flow" viewBox="0 0 1000 {height}" preserveAspectRatio="none" role="img" aria-label="{words}"'
        f' style="height:{height}px">{"".join(parts)}</svg>\n'
    )


def rule_row(report: DatasetReport, total: CorpusReport, number: int, rule: str, most: int) -> str:
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
        f'<span class="num">{count(dropped)}</span><span class="num share">{share(dropped, total.read)}</span>'
    )
    if not dropped:
        return f'<div class="rule none row">{row}</div>\n'
    several = len(report.corpora) > 1
    samples = "".join(sample_item(report, each, several) for each in total.samples[rule])
    return f'<details class="rule"><summary class="row">{row}</summary><ol class="samples">{samples}</ol></details>\n'


def sample_item(report: DatasetReport, sample: DroppedPair, several: bool) -> str:
    where = (f"{escape(sample.corpus)} " if several else "line ") + count(sample.line)
    sides = "".join(
        f'<p lang="{escape(language)}" dir="auto">{visible(text)}</p>' if text else '<p class="gone">empty</p>'
        for language, text in ((report.source, sample.source), (report.target, sample.target))
    )
    return f'<li><span class="where">{where}</span>{sides}</li>'


def lengths_section(report: DatasetReport, total: CorpusReport) -> str:
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
                f"{words}: {count(pairs)}, {share(pairs, total)}",
            )
        )
    jump = round_step(n_bars * step / 6)
    ticks = [(at / step / (n_bars + 1), count(at)) for at in range(0, n_bars * step + 1, jump)]
    ticks.append(((n_bars + 0.5) / (n_bars + 1), "more"))
    if ticks[-2][0] > ticks[-1][0] - 0.07:
        del ticks[-2]
    median = side.percentile(0.5)
    caption = f"median {median} · 99% up to {side.percentile(0.99)}"
    middle = (median - 0.5) / step / (n_bars + 1)
    return histogram(f"Length of sentences, {language}", caption, kind, bars, ticks, ("tokens", "sentences"), middle)


def ratios_figure(report: DatasetReport, total: CorpusReport) -> str:
    edges = ratio_edges()
    n_bars, pairs = len(edges) - 1, sum(total.ratios)
    bars = [
        Bar(
            number / n_bars,
            (number + 1) / n_bars,
            each,
            f"{edges[number]:.2f} to {edges[number + 1]:.2f}: {count(each)}, {share(each, pairs)}",
        )
        for number, each in enumerate(total.ratios)
    ]
    names = {-3: "⅛", -2: "¼", -1: "½", 0: "1", 1: "2", 2: "4", 3: "8"}
    ticks = [
        ((power + OCTAVES) / (2 * OCTAVES) * (n_bars - 1) / n_bars + 0.5 / n_bars, name)
        for power, name in names.items()
    ]
    caption = "one bar for each 9%"
    return histogram(
        "Ratio of tokens",
        caption,
        "ratio",
        bars,
        ticks,
        (f"{report.target} tokens for each {report.source} token", "pairs"),
    )


def percentiles_figure(report: DatasetReport, total: CorpusReport) -> str:
    """The same lengths in figures."""
    shares = (("half", 0.5), ("90%", 0.9), ("99%", 0.99), ("99.9%", 0.999))
    rows = "".join(
        f"<tr><td>{name} of sentences: at most</td>"
        f"<td>{count(total.source.percentile(part))}</td><td>{count(total.target.percentile(part))}</td></tr>"
        for name, part in shares
    )
    mean = f"<tr><td>mean</td><td>{total.source.mean_length:.1f}</td><td>{total.target.mean_length:.1f}</td></tr>"
    return (
        "<figure><figcaption><b>Tokens in a sentence</b></figcaption><table>"
        f"<tr><th></th><th>{escape(report.source)}</th><th>{escape(report.target)}</th></tr>{rows}{mean}</table></figure>\n"
    )


def vocabulary_section(report: DatasetReport, total: CorpusReport) -> str:
    facts = [
        fact(
            f"Vocabulary, {each.name}",
            share(each.used, each.learnt),
            f"of {count(each.learnt)} learnt pieces are used; {count(each.size)} with bytes and special tokens",
            each.share,
            "kept",
        )
        for each in report.vocabularies
    ]
    for language, side, kind in ((report.source, total.source, "source"), (report.target, total.target, "target")):
        whole = share(side.characters - side.byte_characters, side.characters)
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


def fact(name: str, value: str, more: str, part: float, colour: str) -> str:
    return (
        f'<div class="fact"><p>{escape(name)}</p><p class="big">{value}</p>'
        f'<div class="bar"><i style="width:{100 * part:.1f}%;background:var(--{colour})"></i></div>'
        f'<p class="small">{escape(more)}</p></div>\n'
    )


def corpora_section(report: DatasetReport, total: CorpusReport) -> str:
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
        share(corpus.kept, corpus.read),
        count(corpus.source.tokens),
        count(corpus.target.tokens),
        count(corpus.too_long),
    )
    name = "All" if kind == "sum" else escape(corpus.name)
    return f'<tr class="{kind}"><td>{name}</td>{"".join(f"<td>{each}</td>" for each in cells)}</tr>'
