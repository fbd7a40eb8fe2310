"""Import and export of BERT and RoBERTa that predict labels, against transformers itself."""

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

from hark.bundle import Bundle
from hark.errors import UserError
from hark.exchange.export import export_bundle
from hark.exchange.importer import ImportRequest, import_model
from hark.facts import LabelFacts
from hark.tasks.classify import Classifier
from hark.weights import read_weights
from tests.exchange.encoder_models import LABELS, write_labelled
from tests.exchange.marian_models import SENTENCES

transformers = pytest.importorskip("transformers")
Layout = Literal["Bert", "Roberta"]


@pytest.mark.parametrize("layout", ["Bert", "Roberta"])
@pytest.mark.parametrize("task", ["SequenceClassification", "TokenClassification"])
def test_there_and_back(tmp_path: Path, layout: Layout, task: str) -> None:
    """The labels are those of transformers, their probabilities too, and export writes the same weights again."""
    folder = write_labelled(tmp_path / "theirs", layout, task)
    proof = import_model(ImportRequest(str(folder)), tmp_path / "ours")
    assert (proof.equal, proof.quantity) == (proof.sentences, "logits")
    assert proof.sentences >= 18
    bundle = Bundle.open(tmp_path / "ours")
    of = "text" if task == "SequenceClassification" else "words"
    assert bundle.facts.labels == LabelFacts(of, LABELS)  # type: ignore[arg-type]
    classifier = Classifier.load(tmp_path / "ours", "cpu")
    theirs = getattr(transformers, f"AutoModelFor{task}").from_pretrained(folder, dtype=torch.float32).eval()
    check(classifier, theirs, transformers.AutoTokenizer.from_pretrained(folder))

    export = export_bundle(bundle, "huggingface", tmp_path / "again")
    assert export.proof.equal == export.proof.sentences >= 18
    settings = json.loads((tmp_path / "again" / "config.json").read_text())
    assert settings["architectures"] == [f"{layout}For{task}"]
    assert settings["id2label"] == {str(i): name for i, name in enumerate(LABELS)}
    import_model(ImportRequest(str(tmp_path / "again")), tmp_path / "third")
    one, two = (read_weights(tmp_path / name / "model.safetensors") for name in ("ours", "third"))
    assert one.keys() == two.keys()
    assert all(np.array_equal(one[name], two[name]) for name in one)


def check(classifier: Classifier, theirs: Any, tokenizer: Any) -> None:
    if classifier.labels.of == "text":
        found = list(classifier.classify(SENTENCES, top=3))
        for text, labels in zip(SENTENCES, found, strict=True):
            with torch.inference_mode():
                expected = theirs(**tokenizer(text, return_tensors="pt")).logits[0].softmax(-1)
            assert [each.label for each in labels] == [LABELS[i] for i in expected.argsort(descending=True)]
            assert labels[0].probability == pytest.approx(expected.max().item(), abs=1e-4)
        return
    sentences = [text.split() for text in SENTENCES]
    for words, tags in zip(sentences, classifier.tag(sentences), strict=True):
        inputs = tokenizer(" ".join(words), return_tensors="pt", return_offsets_mapping=True)
        starts = [0]
        for word in words[:-1]:
            starts.append(starts[-1] + len(word) + 1)
        begins = [begin for begin, end in inputs.pop("offset_mapping")[0].tolist() if begin < end]
        with torch.inference_mode():
            logits = theirs(**inputs).logits[0, 1:-1]
        expected_tags = [LABELS[int(logits[begins.index(start)].argmax())] for start in starts]
        assert [each[0].label for each in tags] == expected_tags


def test_what_is_refused(tmp_path: Path) -> None:
    folder = write_labelled(tmp_path / "theirs", "Bert", "SequenceClassification")
    path = folder / "config.json"
    settings = json.loads(path.read_text())
    for change, message in (
        ({"problem_type": "regression"}, "predicts a number, or several labels at once"),
        ({"id2label": {"0": "score"}}, "predicts a number, or several labels at once"),
        ({"id2label": {"0": "a", "1": "a", "2": "b"}}, "id2label has a name twice"),
        ({"id2label": {"0": "a", "1": "b"}}, "projection.weight has the shape"),
        ({"architectures": ["BertForMultipleChoice"]}, "has classifier.bias, which is of a task that hark does not"),
    ):
        path.write_text(json.dumps(settings | change))
        with pytest.raises(UserError, match=message):
            import_model(ImportRequest(str(folder), check=False), tmp_path / "x")
