"""The parts of report.html about the languages and directions of a many-to-many dataset."""

from html import escape

from hark.data.report import DatasetReport
from hark.pages.formats import count, plural, short
from hark.pages.heatmap import heat_map

SHARES = (("half", 0.5), ("90%", 0.9), ("99%", 0.99), ("99.9%", 0.999))


def describe_languages(report: DatasetReport) -> str:
    """The title of the report: one direction, or the languages of many."""
    if not report.directions:
        return f"{report.source} → {report.target}"
    return f"{', '.join(report.languages)}: {plural(len(report.directions), 'direction')}"


def many_figures(report: DatasetReport) -> list[tuple[str, str, str]]:
    sizes = [each.pairs for each in report.directions]
    tokens = sum(side.tokens for side in report.languages.values())
    return [
        ("Directions", count(len(sizes)), f"{short(min(sizes))} to {short(max(sizes))} pairs each"),
        ("Tokens", short(tokens), f"in {plural(len(report.languages), 'language')}"),
    ]


def directions_section(report: DatasetReport) -> str:
    pairs = {(each.source, each.target): each for each in report.directions}
    table = heat_map(
        {pair: each.pairs for pair, each in pairs.items()},
        lambda pair: short(pairs[pair].pairs),
        lambda pair: (
            f"{pair[0]} to {pair[1]}: {plural(pairs[pair].pairs, 'pair')}, {count(pairs[pair].source_tokens)} source "
            f"tokens, {count(pairs[pair].target_tokens)} target tokens"
        ),
    )
    return (
        '<section><h2>Pairs by direction</h2>\n<p class="note">Training pairs from the language of the row to that of '
        "the column, with the variants that augmentation added. Set batches.temperature above 1 to sample small "
        f"directions more often than their size.</p>\n{table}</section>\n"
    )


def sentences_section(report: DatasetReport) -> str:
    """A table of sentence lengths by language."""
    total = report.total
    limit = (
        f"{plural(total.too_long, 'pair has', 'pairs have')} a side of more than {count(report.max_length)} tokens, "
        "EOS and language tag included; training skips them."
        if total.too_long
        else f"No pair exceeds the training limit of {count(report.max_length)} tokens."
    )
    heads = "".join(f"<th>{name}</th>" for name, _ in SHARES)
    rows = "".join(
        f"<tr><td>{escape(code)}</td><td>{count(sum(side.lengths))}</td><td>{count(side.tokens)}</td>"
        f"<td>{side.mean_length:.1f}</td>"
        + "".join(f"<td>{count(side.percentile(part))}</td>" for _, part in SHARES)
        + "</tr>"
        for code, side in report.languages.items()
    )
    return (
        f'<section><h2>Length</h2>\n<p class="note">{limit} The last columns are the length in tokens that this share '
        'of sentences does not exceed.</p>\n<div class="scroll"><table><tr><th>Language</th><th>Sentences</th>'
        f"<th>Tokens</th><th>Mean</th>{heads}</tr>{rows}</table></div></section>\n"
    )
