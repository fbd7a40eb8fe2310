"""The fresh lines judged by hand: verdicts fit their flags, and docs/trust.md has their counts."""

from benchmarks.fresh import DIRECTIONS, FILE, VERDICTS, read, tabulate, warned  # type: ignore[import-not-found]
from benchmarks.lines import read_lines

from benchmarks import trust

ROWS = read(FILE)


def test_every_line_has_a_verdict_that_fits_its_flags() -> None:
    assert [sum(row["direction"] == each for row in ROWS) for each in DIRECTIONS] == [150, 150]
    assert len({row["source"] for row in ROWS}) == 300
    for row in ROWS:
        assert row["verdict"] in VERDICTS
        assert row["verdict"] != "usable" or not row["cause"], row
        assert row["verdict"] == "usable" or (row["verdict"] == "flagged") == warned(row), row


def test_no_fresh_line_is_among_the_lines_that_rules_were_tuned_on() -> None:
    known = {
        line.text
        for part in trust.PARTS
        for pair in DIRECTIONS
        for lines in read_lines(trust.HERE / part, pair).values()
        for line in lines
    }
    assert not known & {row["source"] for row in ROWS}


def test_counts() -> None:
    row = {"direction": "en-de", "kind": "chat", "flags": "", "cause": ""}
    table = tabulate(
        [
            row | {"verdict": "usable", "flags": "retried,unsure"},
            row | {"verdict": "usable", "flags": "retried"},
            row | {"verdict": "silent", "cause": "borderline; grammar"},
            row | {"verdict": "flagged", "kind": "news", "direction": "de-en", "flags": "unsure", "cause": "number"},
        ]
    )
    assert table[2:] == [
        "| chat | 2 / 0 / 1 | 0 / 0 / 0 |",
        "| news | 0 / 0 / 0 | 0 / 1 / 0 |",
        "| all | 2 / 0 / 1 | 0 / 1 / 0 |",
        "",
        "4 lines: 50% usable, 25% flagged, 25% silent; warnings on usable lines: 1 of 2; borderline: 1",
    ]


def test_the_documentation_has_these_counts() -> None:
    page = (FILE.parents[3] / "trust.md").read_text(encoding="utf-8")
    *table, _, summary = tabulate(ROWS)
    assert "\n".join(table) in page
    for share in summary.partition(": ")[2].split(";")[0].split(", "):
        assert share.split()[0] in page
