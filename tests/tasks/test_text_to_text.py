"""Generation by a model with an encoder and a decoder but no languages, such as T5, against transformers."""

from pathlib import Path

import pytest
import torch

from hark.errors import UserError
from hark.exchange.importer import ImportRequest, import_model
from hark.tasks.generate import Generator
from hark.translate.load import Loaded
from tests.exchange.bart_models import write_bart
from tests.exchange.t5_models import write_t5
from tests.tasks.test_generate import followed

transformers = pytest.importorskip("transformers")
PROMPTS = ["The cat <extra_id_0> on the mat.", "We have 12 apples", ""]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """The original and the bundle of each kind."""
    made = tmp_path_factory.mktemp("text-to-text")
    found = {}
    for name, write in (("t5", write_t5), ("bart", write_bart)):
        found[name] = write(made / f"original-{name}"), made / name
        import_model(ImportRequest(str(found[name][0]), check=False), found[name][1])
    return found


@pytest.fixture(scope="module")
def t5(folders: dict[str, tuple[Path, Path]]) -> Generator:
    return Generator(folders["t5"][1])


@pytest.mark.parametrize("kind", ["t5", "bart"])
@pytest.mark.parametrize("beam", [1, 3])
def test_texts_equal_those_of_transformers(folders: dict[str, tuple[Path, Path]], kind: str, beam: int) -> None:
    """Greedily, which is the default, and with a beam; all prompts run together."""
    original, bundle = folders[kind]
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(original).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(original)
    generator = Generator(bundle)
    special = generator.vocabulary.special
    lead = generator.vocabulary.target_lead
    found = list(generator.generate(PROMPTS, max_tokens=15, beam=beam, alpha=0.0))
    for prompt, (text,) in zip(PROMPTS, found, strict=True):
        with torch.inference_mode():
            (ids,) = model.generate(
                **tokenizer(prompt, return_tensors="pt"), max_new_tokens=15 + len(lead), do_sample=False,
                num_beams=beam, length_penalty=0.0, early_stopping=beam > 1, renormalize_logits=True, max_length=None,
                bad_words_ids=[[token] for token in special.forbidden], forced_eos_token_id=None,
                forced_bos_token_id=lead[0] if lead else None,
            )  # fmt: skip
        assert text.ending == ("eos" if special.end in ids[1:] else "length")
        written = generator.vocabulary.decode_one(ids.tolist())
        named = {f"<extra_id_{number}>": "" for number in range(100)}
        plain = text.text
        for name in named:
            plain = plain.replace(f" {name}", "").replace(name, "")
        assert "".join(plain.split()) == "".join(written.split())


def test_sentinels_are_written_by_name(t5: Generator) -> None:
    texts = [
        text.text for texts in t5.generate(["The cat"], n=4, temperature=2.0, seed=1, max_tokens=30) for text in texts
    ]
    assert any("<extra_id_" in text for text in texts)
    assert not any(text.startswith(" ") or "  " in text for text in texts)


def test_all_options_work(t5: Generator) -> None:
    """A seed repeats, texts do not depend on others, a stop string ends a text, pieces concatenate to it."""
    options = {"temperature": 1.0, "seed": 5, "max_tokens": 20}
    first, again = (list(t5.generate(PROMPTS[:2], n=2, **options)) for _ in range(2))  # type: ignore[arg-type]
    assert first == again
    assert first[0] == next(t5.generate(PROMPTS[:1], n=2, **options))  # type: ignore[arg-type]
    assert len({text.text for texts in first for text in texts}) == 4
    ((whole,),) = t5.generate(["We have"], max_tokens=20)
    stop = whole.text[4:7]
    pieces, ended = followed(t5, "We have", max_tokens=20, stop=[stop])
    assert "".join(pieces) == ended.text == whole.text[: whole.text.index(stop)]
    assert ended.ending == "stop"
    with pytest.raises(UserError, match="n 2 requires a temperature above 0"):
        next(t5.generate(["We"], n=2))
    with pytest.raises(UserError, match="n 2 requires beam 1"):
        next(t5.generate(["We"], n=2, beam=2))
    with pytest.raises(UserError, match="echo: the text of this model does not contain the prompt"):
        t5.score("We have")


def test_the_limit_is_of_the_text_alone(t5: Generator) -> None:
    ((short,),) = t5.generate(["The cat sat on the mat. " * 5], max_tokens=3)
    ids = t5.vocabulary.encode_marked(short.text)
    assert short.ending == "length"
    assert ids


def test_such_models_do_not_translate(folders: dict[str, tuple[Path, Path]]) -> None:
    with pytest.raises(UserError, match="does not translate: it makes text from text; use hark generate") as error:
        Loaded(folders["t5"][1])
    assert "\n" not in str(error.value)
