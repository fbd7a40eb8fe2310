"""The evaluation page: its content, valid HTML, and escaping."""

import re
from html.parser import HTMLParser

from hark.evaluate.evaluation import evaluate
from hark.evaluate.examples import choose_examples
from hark.evaluate.page import marked, render
from hark.evaluate.systems import Insight
from hark.translate.align import Link
from hark.translate.translation import Alternative
from tests.evaluate.material import GOOD, POOR, SET, Known, small_evaluation, systems


class Tags(HTMLParser):
    """Checks that tags are balanced, and collects all text."""

    alone = frozenset({"meta", "link", "br", "line", "rect"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        if tag not in self.alone or tag == "rect":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_worst_and_the_most_changed_sentences() -> None:
    result, both = small_evaluation(0), systems()
    (found,) = choose_examples(result, both, 2, 4)
    assert [each.line for each in found.worst] == [3, 2]  # by the first system
    assert [each.line for each in found.changed] == [4, 2]
    assert found.changed[0].change < -50
    looked = {text for each in both for text in each.looked_at}  # type: ignore[attr-defined]
    assert looked == {SET.sources[at] for at in (1, 2, 3)}
    (all_of_them,) = choose_examples(result, both, 10, 4)
    assert [each.line for each in all_of_them.changed] == [4, 2, 3]  # the first line is the same in both


def test_examples_come_before_reference_sections() -> None:
    result = small_evaluation()
    page = render(result, choose_examples(result, systems(), 3, 4))
    titles = re.findall("<h2>(.*?)</h2>", page)
    order = [titles.index(title) for title in ("Scores", "By length", "Signatures")]
    worst = next(at for at, title in enumerate(titles) if title.startswith("Worst sentences of"))
    assert order == sorted(order)
    assert order[0] < worst < order[1]
    assert titles[-1] == "Signatures"


def test_the_page_has_scores_signatures_and_sentences() -> None:
    result = small_evaluation()
    page = render(result, choose_examples(result, systems(), 3, 4))
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    for signature in result.signatures.values():
        assert signature in tags.text
    for system in result.sets[0].systems:
        assert f"{system.scores['bleu'].value:.1f}" in tags.text
        assert f"p={system.scores['bleu'].p:.3f}" in tags.text if system.scores["bleu"].p else True
    assert "Die Katze <b>schläft</b>." in tags.text
    assert "<b>schläft" not in page
    assert not re.search(r"(?:src|href)=|https?:|@import|url\(", page)
    assert "Speed" not in tags.text  # nothing was translated


def test_nbest_and_alignment_of_a_model() -> None:
    links = (Link((0, 1), (0, 3), 0.9), Link((2, 5), (4, 8), 0.8))
    insight = Insight(GOOD[0], (Alternative("Ein & Köter", -1.5),), links)
    model = Known("<model>", GOOD, insight)
    result = evaluate([SET], [model], resamples=0)  # type: ignore[list-item]
    page = render(result, choose_examples(result, [model], 4, 4))  # type: ignore[list-item]
    assert "&lt;model&gt;" in page
    assert "<model>" not in page
    assert "Ein &amp; Köter" in page
    assert '<span class="w" data-target="2" title="80%">Hund</span>' in page
    assert '<span class="w" data-source="2">dog</span>' in page
    # In other examples the insight is of another text, so its links are not shown.
    assert page.count('data-target="2"') == 1


def test_marking_keeps_the_text() -> None:
    text = "a <b> & c"
    tags = Tags()
    tags.feed(marked(text, [(0, 1), (2, 5)], "source"))
    assert tags.text == text


def test_an_empty_translation_is_labelled() -> None:
    silent = Known("silent", ("",) * len(POOR))
    result = evaluate([SET], [silent], resamples=0)  # type: ignore[list-item]
    page = render(result, choose_examples(result, [silent], 1, 4))  # type: ignore[list-item]
    assert '<i class="gone">empty</i>' in page
