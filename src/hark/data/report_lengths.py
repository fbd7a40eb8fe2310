"""The part of report.html about sentence lengths: histograms, length ratios and percentiles."""

from html import escape

from hark.data.report import CorpusReport, DatasetReport, SideReport
from hark.data.tally import OCTAVES, ratio_edges
from hark.pages.charts import Bar, histogram, round_step
from hark.pages.formats import count, plural, share

MAX_BARS = 40  # in a histogram of lengths
PERCENTILES = (("half", 0.5), ("90%", 0.9), ("99%", 0.99), ("99.9%", 0.999))


def describe_limit(report: DatasetReport, total: CorpusReport, included: str) -> str:
    """Describe how many pairs training skips, with what is `included` in their lengths."""
    if not total.too_long:
        return f"No pair exceeds the training limit of {count(report.max_length)} tokens."
    return (
        f"{plural(total.too_long, 'pair has', 'pairs have')} a side of more than {count(report.max_length)} tokens, "
        f"{included} included; training skips them."
    )


def language_lengths_section(report: DatasetReport, total: CorpusReport) -> str:
    """A table of sentence lengths by language, for a many-to-many dataset."""
    limit = describe_limit(report, total, "EOS and language tag")
    heads = "".join(f"<th>{name}</th>" for name, _ in PERCENTILES)
    rows = "".join(
        f"<tr><td>{escape(code)}</td><td>{count(sum(side.lengths))}</td><td>{count(side.tokens)}</td>"
        f"<td>{side.mean_length:.1f}</td>"
        + "".join(f"<td>{count(side.percentile(part))}</td>" for _, part in PERCENTILES)
        + "</tr>"
        for code, side in report.languages.items()
    )
    return (
        f'<section><h2>Length</h2>\n<p class="note">{limit} The last columns are the length in tokens that this share '
        'of sentences does not exceed.</p>\n<div class="scroll"><table><tr><th>Language</th><th>Sentences</th>'
        f"<th>Tokens</th><th>Mean</th>{heads}</tr>{rows}</table></div></section>\n"
    )


def lengths_section(report: DatasetReport, total: CorpusReport) -> str:
    limit = describe_limit(report, total, "EOS")
    edge = max(total.source.percentile(0.995), total.target.percentile(0.995), 10)
    return (
        f'<section><h2>Length</h2>\n<p class="note">{limit}</p>\n<div class="charts">'
        + lengths_figure(report.source, total.source, edge, "source")
        + lengths_figure(report.target, total.target, edge, "target")
        + ratios_figure(report, total)
        + percentiles_figure(report, total)
        + "</div></section>\n"
    )


def lengths_figure(language: str, side: SideReport, edge: int, kind: str) -> str:
    """Draw a histogram of sentence lengths in tokens; the last bar holds those beyond `edge`."""
    step = -(-edge // MAX_BARS)
    n_bars = -(-edge // step)
    total = sum(side.lengths)
    bars = []
    for number in range(n_bars + 1):
        low, high = number * step + 1, (number + 1) * step
        if number < n_bars:
            pairs, words = sum(side.lengths[low : high + 1]), f"{low} to {high} tokens" if step > 1 else f"{low} tokens"
        else:
            pairs, words = sum(side.lengths[low:]), f"{low} tokens or more"
        label = f"{words}: {count(pairs)}, {share(pairs, total)}"
        bars.append(Bar(number / (n_bars + 1), (number + 1) / (n_bars + 1), pairs, label))
    jump = round_step(n_bars * step / 6)
    ticks = [(at / step / (n_bars + 1), count(at)) for at in range(0, n_bars * step + 1, jump)]
    ticks.append(((n_bars + 0.5) / (n_bars + 1), "more"))
    if ticks[-2][0] > ticks[-1][0] - 0.07:
        del ticks[-2]
    median = side.percentile(0.5)
    caption = f"median {median} · 99% up to {side.percentile(0.99)}"
    middle = (median - 0.5) / step / (n_bars + 1)
    return histogram(f"Sentence length, {language}", caption, kind, bars, ticks, ("tokens", "sentences"), middle)


def ratios_figure(report: DatasetReport, total: CorpusReport) -> str:
    edges = ratio_edges()
    n_bars, pairs = len(edges) - 1, sum(total.ratios)
    bars = []
    for number, here in enumerate(total.ratios):
        label = f"{edges[number]:.2f} to {edges[number + 1]:.2f}: {count(here)}, {share(here, pairs)}"
        bars.append(Bar(number / n_bars, (number + 1) / n_bars, here, label))
    names = {-3: "⅛", -2: "¼", -1: "½", 0: "1", 1: "2", 2: "4", 3: "8"}
    ticks = [
        ((power + OCTAVES) / (2 * OCTAVES) * (n_bars - 1) / n_bars + 0.5 / n_bars, name)
        for power, name in names.items()
    ]
    axes = f"{report.target} tokens per {report.source} token", "pairs"
    return histogram("Length ratio", "each bar spans 9%", "ratio", bars, ticks, axes)


def percentiles_figure(report: DatasetReport, total: CorpusReport) -> str:
    """Return a table of length percentiles."""
    rows = "".join(
        f"<tr><td>{name} of sentences have at most</td>"
        f"<td>{count(total.source.percentile(part))}</td><td>{count(total.target.percentile(part))}</td></tr>"
        for name, part in PERCENTILES
    )
    mean = f"<tr><td>mean</td><td>{total.source.mean_length:.1f}</td><td>{total.target.mean_length:.1f}</td></tr>"
    return (
        "<figure><figcaption><b>Tokens per sentence</b></figcaption><table>"
        f"<tr><th></th><th>{escape(report.source)}</th><th>{escape(report.target)}</th></tr>"
        f"{rows}{mean}</table></figure>\n"
    )
