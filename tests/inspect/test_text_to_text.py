"""Recordings of T5, FLAN and BART without languages, against transformers itself with the same weights."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

import hark
from hark.bundle import Bundle, write_facts
from hark.engine.interface import length_penalty
from hark.engine.torch import TorchEngine
from hark.errors import UserError
from hark.exchange.importer import ImportRequest, import_model
from hark.inspect.attention import Head
from hark.inspect.effects import measure
from hark.inspect.heads.corpus import encode
from hark.inspect.heads.importance import losses
from hark.inspect.look import look_at_output
from hark.inspect.page import Pack, add_biases, pack_recording
from hark.inspect.reading import MOST_WEIGHTS
from hark.inspect.recording import Recording, record
from hark.inspect.text_to_text import TextToText, record_output
from hark.inspect.variants import without_heads
from hark.tasks.generate import Generator
from hark.translate.load import Loaded
from tests.exchange.bart_models import write_bart
from tests.exchange.t5_models import FLAN, write_t5
from tests.inspect.hidden import without_words
from tests.inspect.text_models import BART, T5, make_text_to_text

transformers = pytest.importorskip("transformers")
TEXT, OUTPUT = "The cat <extra_id_0> on the mat, and <mask> sees it.", "We have 12 apples <extra_id_1> it."
KINDS = ("t5", "flan", "bart")


class Kind(NamedTuple):
    """A model of hark, and the same one of transformers."""

    ours: TextToText
    theirs: Any

    def run(self, source: Sequence[int], written: Sequence[int], hidden: Sequence[int] = ()) -> Any:
        """Their output for a pair of texts, with tokens of the source hidden."""
        seen = [int(at not in hidden) for at in range(len(source))]
        read = [self.ours.target_vocabulary.special.start, *written[:-1]]
        with torch.inference_mode():
            return self.theirs(
                input_ids=torch.tensor([source]), attention_mask=torch.tensor([seen]),
                decoder_input_ids=torch.tensor([read]), output_attentions=True,
            )  # fmt: skip

    def log_probs(self, recording: Recording, hidden: Sequence[int] = ()) -> Tensor:
        logits_TV = self.run(recording.source_ids, recording.written_ids, hidden).logits[0]
        return logits_TV.log_softmax(-1)[range(len(logits_TV)), list(recording.written_ids)]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Kind]:
    folder, loaded = tmp_path_factory.mktemp("text-to-text"), dict[str, Kind]()

    def make(kind: str) -> Kind:
        if kind not in loaded:
            original = folder / f"original-{kind}"
            if kind == "bart":
                write_bart(original)
            else:
                write_t5(original, **(FLAN if kind == "flan" else {}))
            import_model(ImportRequest(str(original), check=False), folder / kind)
            settings = {"attn_implementation": "eager"}
            theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(original, **settings).eval()
            loaded[kind] = Kind(TextToText.open(folder / kind), theirs)
        return loaded[kind]

    return make


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, load: Callable[[str], Kind]) -> Kind:
    return load(request.param)


@pytest.fixture(scope="module")
def t5(load: Callable[[str], Kind]) -> Kind:
    return load("t5")


@pytest.mark.parametrize("output", [None, OUTPUT], ids=["generated", "given"])
def test_all_weights_equal_theirs(kind: Kind, output: str | None) -> None:
    settings: dict[str, Any] = {"max_tokens": 12, "beam": 2} if output is None else {}
    recording = record_output(kind.ours, TEXT, output, **settings)
    theirs = kind.run(recording.source_ids, recording.written_ids)
    for name in ("encoder", "decoder", "cross"):
        expected = torch.cat(theirs[f"{name}_attentions"]).numpy()
        np.testing.assert_allclose(recording.attention.of(name), expected, atol=1e-4, err_msg=name)  # type: ignore[arg-type]
        assert expected.std() > 0.03  # which is no mean of everything


def test_weights_come_from_the_recorded_vectors_and_the_bias(kind: Kind) -> None:
    """As the page explains them."""
    recording = record_output(kind.ours, TEXT, OUTPUT)
    relative = kind.ours.model.config.positions == "relative"
    for name, vectors in recording.vectors.items():
        assert (vectors.bias_HTS is not None) == (relative and name != "cross")
        scores = np.einsum("lthk,lshk->lhts", vectors.q_LTHK, vectors.k_LSHK) / vectors.q_LTHK.shape[-1] ** 0.5
        if vectors.bias_HTS is not None:
            assert np.abs(vectors.bias_HTS).max() > 0.5
            scores = scores + vectors.bias_HTS
        if name == "decoder":
            scores[..., ~np.tri(scores.shape[-1], dtype=bool)] = -np.inf
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        weights = powers / powers.sum(-1, keepdims=True)
        np.testing.assert_allclose(recording.attention.of(name), weights, atol=1e-5)


@pytest.mark.parametrize("beam", [1, 3])
def test_the_output_is_that_of_hark_generate(kind: Kind, beam: int) -> None:
    generator = Generator(kind.ours.bundle.folder)
    ((text,),) = generator.generate([TEXT], beam=beam, max_tokens=14)
    recording = record_output(kind.ours, TEXT, max_tokens=14, beam=beam)
    assert "".join(recording.shown.replace("␣", "").split()) == "".join(text.text.split())
    assert recording.search is not None
    assert (recording.search.request.search.beam, recording.expected) == (beam, ())
    assert (text.ending == "length") == bool(recording.notes)


def test_sentinels_and_the_mask_are_words(t5: Kind, load: Callable[[str], Kind]) -> None:
    recording = record_output(t5.ours, "The cat <extra_id_0>, and <extra_id_1>.", OUTPUT)
    assert recording.source.words == ("The", "cat", "<extra_id_0>", ",", "and", "<extra_id_1>", ".", "")
    assert recording.shown == OUTPUT
    assert recording.sentence == "The cat <extra_id_0>, and <extra_id_1>."
    assert recording.languages is None
    recording = record_output(load("bart").ours, "The <mask> sees it.", "The cat sees it.")
    assert recording.source.words == ("", "The", "<mask>", "sees", "it", ".", "")
    assert recording.source.marks[0] == "s"
    assert recording.expected[0] is None  # the output always begins with <s>


def test_what_is_expected_of_an_output_that_is_given(kind: Kind) -> None:
    recording = record_output(kind.ours, TEXT, OUTPUT)
    special, lead = kind.ours.target_vocabulary.special, kind.ours.target_vocabulary.prefix()
    assert recording.search is None
    assert recording.written_ids == (*lead, *kind.ours.target_vocabulary.encode_marked(OUTPUT), special.end)
    log_prob_TV = kind.run(recording.source_ids, recording.written_ids).logits[0].log_softmax(-1)
    chosen = kind.log_probs(recording).tolist()
    for at, (each, token) in enumerate(zip(recording.expected, recording.written_ids, strict=True)):
        if at < len(lead):
            assert each is None
            continue
        assert each is not None
        assert each.log_prob == pytest.approx(chosen[at], abs=1e-4)
        order = log_prob_TV[at].argsort(descending=True).tolist()
        assert each.rank == 1 + order.index(token)
        assert each.likely[0] == (order[0], pytest.approx(float(log_prob_TV[at].max().exp()), rel=1e-3))
    alpha = kind.ours.bundle.config.decode.alpha
    assert recording.hypothesis.score == pytest.approx(
        sum(chosen[len(lead) :]) / length_penalty(len(chosen) - len(lead), alpha), abs=1e-4
    )


def test_measured_effects_are_those_of_their_model_without_words_and_heads(kind: Kind) -> None:
    """Their attention mask hides words; zero columns of an output matrix remove a head."""
    recording = record_output(kind.ours, TEXT, OUTPUT)
    effects = measure(kind.ours.model, recording, kind.ours.decode, 0)
    np.testing.assert_allclose(effects.log_probs, kind.log_probs(recording), atol=1e-4)
    assert len(effects.words) == len(recording.source.text_words)
    for effect in effects.words:
        assert isinstance(effect.change, int)
        expected = kind.log_probs(recording, recording.source.tokens_of(effect.change))
        np.testing.assert_allclose(effect.log_probs, expected, atol=1e-3)
    for effect in effects.heads[:4]:
        assert isinstance(effect.change, Head)
        weight, width = output_matrix(kind.theirs, effect.change), kind.ours.model.config.v_width
        with torch.no_grad():
            kept = weight.clone()
            weight[:, effect.change.number * width : (effect.change.number + 1) * width] = 0
            expected = kind.log_probs(recording)
            weight.copy_(kept)
        np.testing.assert_allclose(effect.log_probs, expected, atol=1e-3)
    everything = (*effects.words, *effects.heads)
    assert len({each.log_probs for each in everything}) > 10
    assert all(each.text is None for each in everything)


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_what_is_generated_without_a_word_or_a_head(name: str, load: Callable[[str], Kind]) -> None:
    """With the length of the whole text, and after what every output begins with."""
    loaded = load(name).ours
    recording = record_output(loaded, TEXT, max_tokens=8)
    effects = measure(loaded.model, recording, loaded.decode, 2)
    assert recording.search is not None
    for effect in (*effects.heads[:2], *effects.words[:2]):
        model, source = loaded.model, recording.source_ids
        if isinstance(effect.change, Head):
            model = without_heads(model, [effect.change])
        else:
            model, source = without_words(model, source, recording.source.tokens_of(effect.change))
        request = replace(recording.search.request, source=source)
        ((_, (alone, *_)),) = TorchEngine(model, recording.special, "cpu", "float32").run([request])
        assert effect.text == loaded.decode(alone.tokens)
        assert effect.score == pytest.approx(alone.score, abs=1e-4)
    assert all(each.text is None for each in (*effects.heads[2:], *effects.words[2:]))


def test_losses_of_pairs_equal_theirs(kind: Kind) -> None:
    """On which hark heads measures what heads are worth."""
    pairs = [(TEXT, OUTPUT), ("We have 12 apples", "<extra_id_0> apples"), ("The cat", "It")]
    vocabularies = kind.ours.source_vocabulary, kind.ours.target_vocabulary
    corpus = encode(pairs, *vocabularies, 128, marked=True)
    expected = []
    for example in corpus.examples:
        log_prob_TV = kind.run(example.source, example.expected).logits[0].log_softmax(-1)
        expected.append(-float(log_prob_TV[range(len(log_prob_TV)), list(example.expected)].sum()))
    np.testing.assert_allclose(losses(kind.ours.model, corpus.examples), expected, rtol=1e-4)


def output_matrix(model: Any, head: Head) -> Tensor:
    if hasattr(model, "encoder"):  # T5
        blocks = (model.encoder if head.kind == "encoder" else model.decoder).block[head.layer].layer
        attention = blocks[1].EncDecAttention if head.kind == "cross" else blocks[0].SelfAttention
        return attention.o.weight  # type: ignore[no-any-return]
    layer = (model.model.encoder if head.kind == "encoder" else model.model.decoder).layers[head.layer]
    return (layer.encoder_attn if head.kind == "cross" else layer.self_attn).out_proj.weight  # type: ignore[no-any-return]


def test_the_page_of_an_output(t5: Kind) -> None:
    page, recording = look_at_output(t5.ours, TEXT, changes=1, max_tokens=6)
    assert page.title == f"{TEXT} · hark"
    assert recording.notes == ("the output is cut off after 6 tokens; raise --max-tokens for more",)
    head, pack = pack_recording(recording, t5.ours.target_vocabulary)
    assert (head["languages"], head["sentence"], head["shown"]) == (None, TEXT, recording.shown)
    assert len(head["beam"]["steps"]) == 6
    assert "expected" not in head
    sentinels = [text for text in head["beam"]["tokens"] if "extra_id" in text]
    assert sentinels  # among the likeliest tokens
    assert all(text.startswith(" ") for text in sentinels)
    assert {name for name in pack.blocks if name.startswith("bias/")} == {
        f"bias/{kind}/{number}" for kind in ("encoder", "decoder") for number in range(4)
    }
    head, _ = pack_recording(record_output(t5.ours, TEXT, OUTPUT), t5.ours.target_vocabulary)
    assert head["beam"] is None
    assert len(head["expected"]) == len(head["written"]["tokens"])


def test_the_bias_of_a_page_is_that_of_each_distance(t5: Kind) -> None:
    recording = record_output(t5.ours, TEXT, OUTPUT)
    pack = Pack()
    add_biases(pack, recording)
    for kind in ("encoder", "decoder"):
        bias_HTS = recording.vectors[kind].bias_HTS  # type: ignore[index]
        assert bias_HTS is not None
        length = bias_HTS.shape[-1]
        for number, bias_TS in enumerate(bias_HTS):
            at, size = (pack.blocks[f"bias/{kind}/{number}"][name] for name in ("at", "bytes"))
            planes = np.frombuffer(zlib.decompress(b"".join(pack.parts)[at : at + size], -15), np.uint8).reshape(2, -1)
            bias_D = np.ascontiguousarray(planes.T).view(">i2")[:, 0] * pack.blocks[f"bias/{kind}/{number}"]["scale"]
            for i, j in ((0, 0), (0, length - 1), (length - 1, 0), (3, 5), (5, 3)):
                assert bias_D[length - 1 + j - i] == pytest.approx(bias_TS[i, j], abs=1e-3)


@pytest.mark.parametrize("settings", [T5, BART], ids=["t5", "bart"])
def test_models_that_hark_trained(settings: Sequence[str], tmp_path: Path) -> None:
    """With the vocabulary of running text, and with languages after fine-tuning on pairs."""
    folder = make_text_to_text(tmp_path / "own", *settings, "decode.max_extra=0")
    recording = record_output(TextToText.open(folder), "The <extra_id_0> sees\na <mask>.", max_tokens=5, beam=2)
    assert {"<extra_id_0>", "↵", "<mask>"} <= {*recording.source.words}
    assert hark.look("The cat", folder, max_tokens=5, changes=1).title == "The cat · hark"
    bundle = Bundle.open(folder)
    write_facts(bundle, replace(bundle.facts, pairs=(("en", "de"),)))
    translated = record(Loaded(folder, "torch", "cpu"), "The cat", beam=1)
    assert translated.languages == ("en", "de")
    assert (translated.vectors["encoder"].bias_HTS is not None) == (settings is T5)


def test_python_takes_an_output(t5: Kind) -> None:
    assert '"expected":' in hark.look(TEXT, t5.ours, output=OUTPUT, changes=0).html
    folder = t5.ours.bundle.folder
    with pytest.raises(UserError, match="the output is given, so nothing is generated; leave out changes, beam"):
        hark.look(TEXT, folder, output=OUTPUT, changes=2, beam=3)


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        (" \n", {}, "^no text; give some$"),
        (TEXT, {"output": " "}, "^no output; give some$"),
        ("a" * 5000, {}, "the text has 5,000 characters; the limit of a page is 4,000; give a shorter one"),
        (TEXT, {"max_tokens": 0}, "max_tokens 0: must be at least 1"),
        (TEXT, {"max_tokens": 900}, "the output may get 900 tokens, but a page of t5 shows at most 8.. beside a text"),
        ("a b " * 700, {}, r"the text has 1,\d+ tokens, which leaves no room for an output on a page of t5; give"),
        (TEXT, {"output": "a b " * 900}, r"the output has 1,\d+ tokens, but a page of t5 shows at most 8.. beside"),
        (TEXT, {"beams": 3}, "beams: no such search setting"),
    ],
)
def test_what_is_impossible_is_an_error_in_one_line(
    t5: Kind, text: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message) as error:
        record_output(t5.ours, text, **settings)
    assert "\n" not in str(error.value)


def test_a_page_has_room_for_its_weights(t5: Kind) -> None:
    """As many tokens of output as there may be weights of all heads."""
    heads = 2 * 4
    for source in (1, 10, 400):
        room = t5.ours.room(source)
        weights = [heads * (source**2 + t**2 + t * source) for t in (room, room + 1)]
        assert weights[0] <= MOST_WEIGHTS < weights[1]
    assert t5.ours.room(10**6) == 0
