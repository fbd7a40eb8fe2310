"""Gaps are filled as transformers fills them."""

from typing import Any

import pytest
import torch

from hark.errors import UserError
from hark.tasks.encoder import LoadedEncoder
from hark.tasks.fill import GapFiller
from tests.tasks.encoders import Kind, folders

transformers = pytest.importorskip("transformers")
TEXTS = {
    "bert": ["The [MASK] sat on the [MASK].", "[MASK] morning!", "A small house ([MASK]) stands by the river, [MASK]"],
    "roberta": ["The <mask> sat on the <mask>.", "<mask> morning!", "A small house (<mask>) stands, <mask>"],
}


def filler(kind: Kind, top: int = 7) -> GapFiller:
    return GapFiller(LoadedEncoder(folders(kind)[1], "cpu"), top)


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_probabilities_are_those_of_transformers(kind: Kind) -> None:
    theirs, _ = folders(kind)
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(theirs)
    model = transformers.AutoModelForMaskedLM.from_pretrained(theirs, dtype=torch.float32).eval()
    for text, gaps in zip(TEXTS[kind], filler(kind).fill(TEXTS[kind]), strict=True):
        inputs = tokenizer(text, return_tensors="pt")
        with torch.inference_mode():
            probabilities_TV = model(**inputs).logits[0].softmax(-1)
        places = (inputs.input_ids[0] == tokenizer.mask_token_id).nonzero().flatten().tolist()
        assert len(places) == len(gaps) == text.count(tokenizer.mask_token)
        for place, found in zip(places, gaps, strict=True):
            expected_V = probabilities_TV[place].clone()
            expected_V[tokenizer.all_special_ids] = 0
            expected_V[len(tokenizer) :] = 0
            best = expected_V.topk(7)
            assert [each.probability for each in found] == pytest.approx(best.values.tolist(), abs=1e-5)
            words = [tokenizer.decode([token]).strip().removeprefix("##") for token in best.indices.tolist()]
            assert [each.text for each in found] == words


def test_the_text_is_kept_around_a_filler() -> None:
    ((first, second),) = filler("bert", 200).fill(["  The [MASK], ([MASK]).  "])
    texts = {each.text: each.filled for each in first}
    assert texts["cat"] == "  The cat, ([MASK]).  "
    assert "  The" + "a, ([MASK]).  " in {each.filled for each in first}  # ##a continues the word before
    assert {each.text: each.filled for each in second}["cat"] == "  The [MASK], (cat).  "
    assert sum(each.probability for each in first) <= 1 + 1e-5


def test_what_cannot_be_filled() -> None:
    with pytest.raises(UserError, match=r"text 2 has no gap; write \[MASK\] where there is one"):
        list(filler("bert").fill(["a [MASK]", "b <mask>"]))
    with pytest.raises(UserError, match=r"text 1 has no gap; write <mask>"):
        list(filler("roberta").fill(["a [MASK]"]))
    with pytest.raises(UserError, match=r"text 1 has \d+ tokens, but .* reads at most 62; split it"):
        list(filler("bert").fill(["a [MASK] " * 40]))
    with pytest.raises(
        UserError, match="imported without the layer that predicts tokens; it embeds sentences; use hark embed"
    ):
        filler("headless")
