"""Transformers' side of a parity check: a model in a Hugging Face folder, run by transformers itself."""

import contextlib
import io
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from hark.config import DecodeConfig
from hark.exchange.parity import Ids, Side, recorded
from hark.facts import LanguagePair, LanguageTags
from hark.machine import return_memory
from hark.text.piece_vocabulary import PieceTable
from hark.weights import Array


def transformers_side(folder: Path, table: PieceTable, tags: LanguageTags, pair: LanguagePair) -> Side:
    """A model of BART's layout with its own tokenizer and its own search.

    The search follows hark's rules: no length penalty, an end as soon as `beam` hypotheses have ended, and
    probabilities without the tokens that hark never produces.
    """
    import torch

    loaded = LazyModel(folder)
    tokenizer, special = loaded.tokenizer, table.special
    # Not every version of a tokenizer knows that language tags are special.
    named = {"", *table.tags.values(), *table.silent}
    tag_ids = (token for token, piece in enumerate(table.target) if piece in named)
    silent = {special.pad, special.start, special.end, *tag_ids}
    forced: dict[str, Any] = {}
    before = ""
    if tags == "source":
        before = table.tags[pair[1]]
    elif tags == "target":
        tokenizer.src_lang = table.tags[pair[0]].strip("_")
        forced = {"forced_bos_token_id": table.target.index(table.tags[pair[1]])}

    def source_tokens(text: str) -> Ids:
        ids: list[int] = tokenizer(before + text).input_ids
        return ids

    def translate(texts: Sequence[str], beam: int) -> list[str]:
        model, found = loaded.model, []
        limit = model.config.max_position_embeddings
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
            found.append(tokenizer.decode(words, skip_special_tokens=True).strip())
        return found

    def run(source: Ids, target: Ids) -> dict[str, Array]:
        model = loaded.model
        network = model.model
        stacks = (("encoder", network.encoder), ("decoder", network.decoder))
        modules = {f"{name} layer {i}": layer for name, stack in stacks for i, layer in enumerate(stack.layers, 1)}
        tokens = torch.tensor([source]), torch.tensor([[special.start, *target]])
        with torch.inference_mode(), recorded(modules) as outputs:
            logits = model(input_ids=tokens[0], decoder_input_ids=tokens[1]).logits
        return outputs | {"logits": logits[0].numpy()}

    def layers(source: Ids, target: Ids) -> Mapping[str, Array]:
        outputs = run(source, target)
        del outputs["logits"]
        return outputs

    return Side(
        f"transformers {version('transformers')}, float32",
        translate,
        source_tokens,
        logits=lambda source, target: run(source, target)["logits"],
        layers=layers,
        release=loaded.release,
    )


class LazyModel:
    """Tokenizer and model in a folder, without network and without running code in it. The model is loaded at first use
    and after each release."""

    local: ClassVar = {"local_files_only": True, "trust_remote_code": False}

    def __init__(self, folder: Path) -> None:
        import transformers

        self.folder = folder
        with silence():
            self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, **self.local)
        assert self.model is not None  # whether it can be loaded at all
        self.release()

    @cached_property
    def model(self) -> Any:
        import torch
        import transformers

        with silence():
            kind: Any = transformers.AutoModelForSeq2SeqLM
            return kind.from_pretrained(self.folder, dtype=torch.float32, **self.local).eval()

    def release(self) -> None:
        if self.__dict__.pop("model", None) is not None:
            return_memory()


@contextlib.contextmanager
def silence() -> Any:
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
