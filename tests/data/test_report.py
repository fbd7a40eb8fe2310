import json
import pickle
import random
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from hark.config import CleanConfig
from hark.data.filters import RULES
from hark.data.measures import Pieces, make_report
from hark.data.report import DatasetReport, HeldOutReport
from hark.data.report_page import render, write_report
from hark.data.tally import SAMPLE_CHARS, SAMPLES, Tally, ratio_edges

PIECES = Pieces(size=1000, specials=6)
FIRST_BYTE, FIRST_PIECE = 6, 262


def example(corpus: str = "news", drops: int = 40) -> Tally:
    tally = Tally(corpus, max_length=5)
    for line in range(1, drops + 1):
        tally.drop(RULES[line % len(RULES)], line, f"source <b>{line}</b>", f"target & {line}")
    tally.keep(
        ["abc def", "ab", "é"],
        ["uvw", "xyz", "a€"],
        [[262, 263, 264], [262], [FIRST_BYTE + 0xC3, FIRST_BYTE + 0xA9]],
        [[300] * 6, [301], [262, FIRST_BYTE + 0xE2, FIRST_BYTE + 0x82, FIRST_BYTE + 0xAC]],
    )
    return tally


def report_of(*tallies: Tally, shared: bool = True, clean: CleanConfig | None = None) -> DatasetReport:
    sets = [HeldOutReport("newstest", "test", 3003)]
    return make_report("en", "de", clean or CleanConfig(), tallies, PIECES, PIECES, shared, sets)


def test_counts() -> None:
    total = report_of(example()).total
    assert (total.read, total.kept, total.too_long) == (43, 3, 1)
    assert total.dropped == dict.fromkeys(RULES, 4)
    assert list(total.dropped) == list(RULES)


def test_too_long_includes_eos_as_batches_do() -> None:
    tally = Tally("x", max_length=5)
    tally.keep(["a", "b", "c"], ["d", "e", "f"], [[300] * 4, [300] * 5, [300]], [[300], [300], [300] * 6])
    assert tally.too_long == 2


def test_characters_tokens_and_bytes() -> None:
    total = report_of(example()).total
    assert (total.source.characters, total.source.tokens) == (10, 6)
    assert total.source.characters_per_token == 10 / 6
    assert total.source.byte_characters == 1  # é, of two bytes
    assert total.target.byte_characters == 1  # €, of three
    assert total.source.whole == 0.9
    assert total.source.lengths == (0, 1, 1, 1)
    assert total.target.lengths == (0, 1, 0, 0, 1, 0, 1)
    assert total.source.mean_length == 2
    assert [total.source.percentile(share) for share in (0.1, 0.5, 1.0)] == [1, 2, 3]


def test_vocabulary_coverage_counts_learnt_pieces_only() -> None:
    (shared,) = report_of(example()).vocabularies
    assert (shared.size, shared.learnt, shared.used) == (1000, 1000 - FIRST_PIECE, 5)
    source, target = report_of(example(), shared=False).vocabularies
    assert (source.name, source.used, target.name, target.used) == ("en", 3, "de", 3)


def test_outer_ratio_bins_take_values_beyond_the_edges() -> None:
    tally = Tally("x", 250)
    tally.keep(["a"] * 4, ["b"] * 4, [[300], [300], [300] * 99, [300]], [[300], [300] * 2, [300], [300] * 99])
    edges = ratio_edges()
    counted = [at for at, pairs in enumerate(tally.ratios) for _ in range(pairs)]
    assert counted[0] == 0
    assert counted[-1] == len(edges) - 2
    assert edges[counted[1]] < 1 < edges[counted[1] + 1]
    assert edges[counted[2]] < 2 < edges[counted[2] + 1]


def test_samples_are_limited_truncated_and_spread() -> None:
    tally = Tally("x", 250)
    for line in range(1, 10_001):
        tally.drop("empty", line, "s" * 1_000, "")
    chosen = tally.samples["empty"]
    assert len(chosen) == SAMPLES
    assert all(len(each.source) == SAMPLE_CHARS for each in chosen)
    assert max(each.line for each in chosen) > 5_000
    assert tally.dropped["empty"] == 10_000


events = st.lists(st.tuples(st.sampled_from((*RULES, "keep")), st.integers(1, 8)), max_size=80)


@given(events, st.integers(1, 5), st.randoms(use_true_random=False))
def test_merged_tallies_do_not_depend_on_split_or_order(events, parts, chance) -> None:  # type: ignore[no-untyped-def]
    def fill(tally: Tally, line: int) -> None:
        rule, size = events[line]
        if rule == "keep":
            tally.keep(["s" * size], ["t"], [[262] * size], [[300 + size]])
        else:
            tally.drop(rule, line, f"s{line}", f"t{line}")

    whole, pieces = Tally("x", 5), [Tally("x", 5) for _ in range(parts)]
    for line in range(len(events)):
        fill(whole, line)
        fill(chance.choice(pieces), line)
    chance.shuffle(pieces)
    merged = Tally("x", 5)
    for piece in pieces:
        merged.merge(pickle.loads(pickle.dumps(piece)))
    assert report_of(merged).to_json() == report_of(whole).to_json()


def test_json_round_trip() -> None:
    report = report_of(example("one"), example("two", 70), shared=False)
    assert DatasetReport.from_json(report.to_json()) == report
    tree = json.loads(report.to_json())
    assert tree["format"] == 1
    assert tree["summary"]["read"] == 116


def test_lone_surrogates_and_control_characters_are_escaped(tmp_path: Path) -> None:
    tally = Tally("x", 250)
    tally.drop("garbled", 1, "a\ud800b", "nul\x00 bell\x07")
    write_report(report_of(tally), tmp_path)
    assert "\\ud800" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "nul␀ bell␇" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))


class Page(HTMLParser):
    """Checks that tags close in order, and collects references to external resources."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.external: list[str] = []
        self.details = 0
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.details += tag == "details"
        self.external += [name for name, _ in attrs if name in ("src", "href", "srcset", "onclick")]
        assert tag not in ("script", "link", "img", "iframe")
        if tag not in ("meta", "line", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("line", "path"):  # <line/> is reported as a start and an end tag
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_page_is_well_formed_and_self_contained() -> None:
    html = render(report_of(example("one"), example("two")))
    page = Page(html)
    assert page.open == []
    assert page.external == []
    assert not re.search(r"https?://|url\(|@import", html)
    assert "prefers-color-scheme: dark" in html


def test_page_escapes_text_and_shows_samples_of_every_rule() -> None:
    html = render(report_of(example()))
    assert "<b>1</b>" not in html
    assert "source &lt;b&gt;1&lt;/b&gt;" in html
    assert Page(html).details == len(RULES)
    assert html.count("<li>") == 40


def test_names_are_escaped() -> None:
    report = replace(report_of(example("<i>&co")), source='"><script>', held_out=(HeldOutReport("<u>", "dev", 1),))
    html = render(report)
    assert "<i>" not in html.replace("<i style", "")
    assert "<u>" not in html
    assert Page(html).open == []


def test_page_of_an_empty_report() -> None:
    for report in (report_of(), report_of(Tally("empty", 250))):
        assert Page(render(report)).open == []


def test_page_warns_when_dev_and_test_were_not_held_out() -> None:
    assert "No training pair contains a sentence of these sets" in render(report_of(example()))
    off = render(report_of(example(), clean=CleanConfig(held_out=False)))
    assert "No training pair contains" not in off
    assert "training pairs may overlap with them, which inflates scores" in off


def test_report_is_deterministic() -> None:
    random.seed(1)
    one = render(report_of(example()))
    random.seed(2)
    assert render(report_of(example())) == one
