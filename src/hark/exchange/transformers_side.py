"""Transformers' side of a parity check: a model in a Hugging Face folder, run by transformers itself."""

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hark.config import DecodeConfig
from hark.exchange.hark_side import text_side
from hark.exchange.parity import Ids, Lazy, Side, recorded
from hark.facts import LanguagePair, LanguageTags
from hark.text.piece_vocabulary import PieceTable
from hark.weights import Array


def transformers_side(
    folder: Path,
    table: PieceTable,
    tags: LanguageTags,
    pair: LanguagePair | None,
    longest: int | None = None,
    decode: Callable[[Ids], str] | None = None,
) -> Side:
    """A model of BART's or T5's layout with its own tokenizer and its own search, of at most `longest` tokens, or as
    many as it has positions. A model without pairs of languages has no tags. `decode` replaces the tokenizer's.

    The search follows hark's rules: no length penalty, an end as soon as `beam` hypotheses have ended, and
    probabilities without the tokens that hark never produces.
    """
    import torch

    loaded = LazyModel(folder)
    tokenizer, special = loaded.tokenizer, table.special
    # Not every version of a tokenizer knows that language tags are special.
    named = {"", *table.tags.values(), *table.silent}
    tag_ids = (token for token, piece in enumerate(table.target) if piece in named)
    silent = {special.pad, special.start, special.end, *table.sentinels, *table.target_lead, *tag_ids}
    forced: dict[str, Any] = {"forced_bos_token_id": table.target_lead[0]} if table.target_lead else {}
    before = ""
    if pair is None:
        assert tags == "none"
    elif tags == "source":
        before = table.tags[pair[1]]
    elif tags == "target":
        tokenizer.src_lang = table.tags[pair[0]].strip("_")
        forced = {"forced_bos_token_id": table.target.index(table.tags[pair[1]])}

    def source_tokens(text: str) -> Ids:
        ids: list[int] = tokenizer(before + text).input_ids
        return ids

    def translate(texts: Sequence[str], beam: int) -> list[str]:
        model, found = loaded.model, []
        limit = longest or model.config.max_position_embeddings
        for text in texts:
            ids = source_tokens(text)
            with torch.inference_mode(), silence():
                (output,) = model.generate(
                    input_ids=torch.tensor([ids]),
                    num_beams=beam,
                    length_penalty=0.0,
                    early_stopping=beam > 1,
                    do_sample=False,
                    max_length=None,
                    max_new_tokens=min(len(ids) + DecodeConfig().max_extra, limit),
                    bad_words_ids=[[token] for token in special.forbidden],
                    renormalize_logits=True,
                    forced_eos_token_id=None,
                    **forced,
                )
            words = [token for token in output.tolist() if token not in silent]
            text = decode(words) if decode is not None else tokenizer.decode(words, skip_special_tokens=True)
            found.append(text.strip())
        return found

    def run(source: Ids, target: Ids) -> dict[str, Array]:
        return run_layers(loaded.model, source, [special.start, *target])

    return Side(
        f"transformers {version('transformers')}, float32",
        translate,
        source_tokens,
        logits=lambda source, target: run(source, target)["logits"],
        layers=run,
        release=loaded.release,
    )


def transformers_text_side(folder: Path, kind: str = "AutoModelForCausalLM") -> Side:
    """A model of one stack with its own tokenizer."""
    import torch

    loaded = LazyModel(folder, kind)

    def run(ids: Ids) -> dict[str, Array]:
        base = loaded.model.base_model
        layers = base.h if hasattr(base, "h") else base.layers  # GPT-2's name, and that of later models
        modules = {f"decoder layer {i}": layer for i, layer in enumerate(layers, 1)}
        with torch.inference_mode(), recorded(modules) as found:
            output = loaded.model(input_ids=torch.tensor([list(ids)]))
        return found | {"logits": output.logits[0].numpy()}

    def tokens(text: str) -> Ids:
        ids: list[int] = loaded.tokenizer(text).input_ids
        return ids

    return text_side(f"transformers {version('transformers')}, float32", tokens, run, loaded.release)


def run_layers(model: Any, source: Ids, target: Ids) -> dict[str, Array]:
    """The outputs of all layers, and the logits, of one sentence pair; `target` begins with the start token."""
    import torch

    modules: dict[str, Any] = {}
    for name, stack in (("encoder", model.get_encoder()), ("decoder", model.get_decoder())):
        layers = stack.block if hasattr(stack, "block") else stack.layers  # T5's name, and that of BART
        modules |= {f"{name} layer {i}": layer for i, layer in enumerate(layers, 1)}
        if hasattr(stack, "layer_norm"):
            modules[f"{name} norm"] = stack.layer_norm
    with torch.inference_mode(), recorded(modules) as found:
        output = model(input_ids=torch.tensor([list(source)]), decoder_input_ids=torch.tensor([list(target)]))
    return found | {"logits": output.logits[0].numpy()}


class LazyModel(Lazy[Any]):
    """Tokenizer and model in a folder, without network and without running code in it."""

    def __init__(self, folder: Path, kind: str = "AutoModelForSeq2SeqLM") -> None:
        import torch
        import transformers

        local: Any = {"local_files_only": True, "trust_remote_code": False}
        loader: Any = getattr(transformers, kind)

        def load() -> Any:
            with silence():
                return loader.from_pretrained(folder, dtype=torch.float32, **local).eval()

        super().__init__(load)
        with silence():
            self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, **local)
        assert self.model is not None  # whether it can be loaded at all
        self.release()


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Keep progress bars and advice of transformers off the terminal."""
    import transformers

    logging: Any = transformers.utils.logging
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.set_verbosity(level)
