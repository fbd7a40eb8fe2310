"""What models that restore text read, so that their heads can be seen."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from hark.bundle import Bundle
from hark.errors import UserError
from hark.inspect.heads.corpus import WINDOW, HeadExample, encode
from hark.inspect.heads.corrupted import corruption_of, read_corrupted
from hark.text.opening import open_vocabularies
from tests.inspect.text_models import BART, SENTENCES, T5, make_text_to_text
from tests.tasks.decoders import make_one_stack

TEXT = " ".join(SENTENCES * 30)


@pytest.fixture(scope="module", params=["t5", "bart"])
def bundle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    settings = T5 if request.param == "t5" else BART
    return Bundle.open(make_text_to_text(tmp_path_factory.mktemp("models") / request.param, *settings))


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "text.txt"
    path.write_text(TEXT)
    return path


def test_parts_are_corrupted_as_the_model_learnt_it(bundle: Bundle, text: Path) -> None:
    """What is hidden in the source is what the decoder writes, or a part of it."""
    vocabulary = open_vocabularies(bundle)[0]
    corpus, special = read_corrupted(text, bundle, vocabulary, 6), vocabulary.special
    assert len(corpus.examples) == corpus.lines == 6
    ids = vocabulary.encode_literal(TEXT)
    length = 64 - 1  # of the windows that it was trained on, with EOS
    for number, example in enumerate(corpus.examples):
        part = ids[number * length : (number + 1) * length]
        assert example.expected[-1] == example.source[-1] == special.end
        assert example.target == (special.start, *example.expected[:-1])
        if bundle.config.batches.corrupted == "infilling":
            assert example.expected[:-1] == tuple(part)
            kept = [token for token in example.source[:-1] if token != vocabulary.mask]
            assert len(kept) == length - round(0.3 * length)
            assert not set(kept) - set(part)
        else:
            assert restored(example, vocabulary.sentinels) == part
            assert len(example.expected) == round(0.15 * length) + 3 + 1  # in three spans
    assert read_corrupted(text, bundle, vocabulary, 6) == corpus
    assert corpus.tokens == sum(len(each.source) + len(each.expected) for each in corpus.examples)


def restored(example: HeadExample, sentinels: Sequence[int]) -> list[int]:
    """The source with the spans of the target in place of its sentinels."""
    spans: dict[int, list[int]] = {}
    for token in example.expected[:-1]:
        if token in sentinels:
            spans[token] = []
        else:
            spans[next(reversed(spans))].append(token)
    return [each for token in example.source[:-1] for each in spans.get(token, [token])]


def test_models_that_learnt_it_elsewhere_read_what_t5_or_bart_read(tmp_path: Path) -> None:
    plain = [each for each in T5 if not each.startswith("batches")]
    bundle = Bundle.open(make_text_to_text(tmp_path / "t5", *plain, "model.max_positions=200"))
    corruption, longest = corruption_of(bundle, open_vocabularies(bundle)[0])
    assert (corruption.kind, corruption.share, corruption.span, longest) == ("spans", 0.15, 3.0, WINDOW - 1)
    bundle = Bundle.open(make_text_to_text(tmp_path / "bart", *plain, sentinels=0))
    corruption, longest = corruption_of(bundle, open_vocabularies(bundle)[0])
    assert (corruption.kind, corruption.share, corruption.permuted, longest) == ("infilling", 0.3, 1.0, 95)
    bundle = Bundle.open(make_one_stack(tmp_path / "none", "encoder-decoder"))
    with pytest.raises(UserError, match="no sentinels and no mask, so it restores no text; give --on two files"):
        corruption_of(bundle, open_vocabularies(bundle)[0])


def test_short_texts_and_objects(bundle: Bundle, tmp_path: Path) -> None:
    vocabulary = open_vocabularies(bundle)[0]
    (tmp_path / "text.jsonl").write_text("".join(json.dumps({"text": each}) + "\n" for each in [*SENTENCES, "a"]))
    assert len(read_corrupted(tmp_path / "text.jsonl", bundle, vocabulary, 9).examples) == 2
    (tmp_path / "short.txt").write_text("a")
    with pytest.raises(UserError, match=r"short\.txt: has no text of 8 tokens or more"):
        read_corrupted(tmp_path / "short.txt", bundle, vocabulary, 9)


def test_names_of_sentinels_in_pairs_stand_for_spans(bundle: Bundle) -> None:
    vocabulary = open_vocabularies(bundle)[0]
    name = vocabulary.pieces(vocabulary.hidden)[0]
    (marked,) = encode([(f"The {name} sees", f"{name} cat")], vocabulary, vocabulary, 96, marked=True).examples
    assert vocabulary.hidden[0] in marked.source
    assert marked.expected[0] == vocabulary.hidden[0]
    (plain,) = encode([(f"The {name} sees", f"{name} cat")], vocabulary, vocabulary, 96).examples
    assert not {*plain.source, *plain.expected} & {*vocabulary.hidden}
