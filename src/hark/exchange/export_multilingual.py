"""Export to Hugging Face transformers of many-to-many models as they were imported: M2M100, NLLB and mBART-50.

The shape of the model and the form of its language tags tell which of the three it is, so that a model that was
fine-tuned since becomes the same again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from hark.errors import UserError, require
from hark.exchange.hark_side import MAX_COMPARED_TOKENS, hark_side
from hark.exchange.huggingface_exporter import CHECKING, HuggingFaceExporter
from hark.exchange.language_codes import (
    FIRST,
    M2M100_TAGS,
    MASK,
    MBART50_TAGS,
    MODEL,
    START,
    sentencepiece_pieces,
    with_languages,
)
from hark.exchange.parity import Side
from hark.exchange.transformers_side import transformers_side
from hark.text.piece_vocabulary import PieceTable, PieceVocabulary

INSTEAD = "export to ctranslate2 instead"


@dataclass(frozen=True)
class MultilingualExporter(HuggingFaceExporter):
    """Writes an M2M100ForConditionalGeneration, which NLLB is as well, or an MBartForConditionalGeneration."""

    def refuse(self) -> None:
        config, special = self.bundle.config.model, self.table.special
        if self.is_mbart:
            own = {
                "has no norm of embeddings": not config.embedding_norm,
                "has a position offset": config.position_offset != 0,
            }
        else:
            own = {
                f"has {config.positions} positions": config.positions != "sinusoidal_t2t",
                f"begins with position {config.position_offset}": config.position_offset != special.pad + 1,
                "has a norm of embeddings": config.embedding_norm,
                "has an output bias": config.output_bias,
            }
        reasons = self.reasons() | own
        reasons |= {"is post-norm": config.norm != "pre", "has separate embeddings": config.tie != "all"}
        self.refuse_for(reasons, f"which {self.architecture} does not have; {INSTEAD}")
        if not self.is_numbered:
            raise UserError(
                f"{self.bundle.folder}: numbers pieces or languages otherwise than {self.tokenizer_class}; {INSTEAD}"
            )

    @property
    def vocabulary(self) -> PieceVocabulary:
        """That of both sides."""
        source, target = self.vocabularies
        if not isinstance(target, PieceVocabulary) or source is not target:
            raise UserError(
                f"{self.bundle.folder}: has other vocabularies than M2M100, NLLB and mBART-50, one for both sides; "
                f"{INSTEAD}"
            )
        return target

    @property
    def table(self) -> PieceTable:
        return self.vocabulary.table

    @cached_property
    def codes(self) -> list[str]:
        """The tags of all languages of the original in the order of their ids, also of those that were not imported."""
        return [piece for piece in self.table.silent if piece not in (START, MASK)]

    @property
    def is_mbart(self) -> bool:
        return self.bundle.config.model.positions == "learned"

    @property
    def is_m2m100(self) -> bool:
        """Whether languages are tagged as in M2M100, such as __en__; NLLB has eng_Latn."""
        return not self.is_mbart and all(code.startswith("__") and code.endswith("__") for code in self.codes)

    @property
    def is_numbered(self) -> bool:
        """Whether the tokenizer in transformers has the same ids."""
        table, codes = self.table, self.codes
        named = [table.target[token] for token in (table.special.pad, table.special.end, table.special.unknown)]
        if table.target[: len(FIRST)] != FIRST or named != [*FIRST[1:]] or not codes or not table.source_end:
            return False
        if self.is_m2m100:
            text = self.text_pieces
            distinct = "" not in text and len(set(text)) == len(text)
            return distinct and codes in M2M100_TAGS.values() and self.is_whole(text, has_mask=False)
        text = tuple(sentencepiece_pieces(self.vocabulary.model, self.bundle.folder))
        return (codes == MBART50_TAGS or not self.is_mbart) and self.is_whole(text, has_mask=True)

    def is_whole(self, text: tuple[str, ...], has_mask: bool) -> bool:
        target = self.table.target
        return with_languages(text, self.codes, len(target), has_mask) == target

    @property
    def text_pieces(self) -> tuple[str, ...]:
        """The pieces before the languages."""
        target, first = self.table.target, self.codes[0]
        return target[: target.index(first)] if first in target else target

    @property
    def architecture(self) -> str:
        return "MBartForConditionalGeneration" if self.is_mbart else "M2M100ForConditionalGeneration"

    @property
    def tokenizer_class(self) -> str:
        if self.is_mbart:
            return "MBart50Tokenizer"
        return "M2M100Tokenizer" if self.is_m2m100 else "NllbTokenizer"

    def own_settings(self) -> dict[str, Any]:
        return {"model_type": "mbart" if self.is_mbart else "m2m_100", "bos_token_id": FIRST.index(START)}

    def generation(self) -> dict[str, Any]:
        """With the tag of the target language, if there is only one."""
        _, target = self.only_languages
        forced = {"forced_bos_token_id": self.vocabulary.tag(target)} if target else {}
        return super().generation() | {"bos_token_id": FIRST.index(START)} | forced

    @property
    def only_languages(self) -> tuple[str | None, str | None]:
        """The source and the target language; None if there are several."""
        scheme = self.vocabulary.scheme
        source, target = (each[0] if len(each) == 1 else None for each in (scheme.sources, scheme.targets))
        return source, target

    def tokenizer_files(self) -> Mapping[str, bytes | dict[str, Any]]:
        names = dict(zip(("bos_token", "pad_token", "eos_token", "unk_token"), FIRST, strict=True))
        settings: dict[str, Any] = {
            "tokenizer_class": self.tokenizer_class,
            **names,
            "model_max_length": self.bundle.config.model.max_positions,
            "additional_special_tokens": self.codes,
        }
        for name, language in zip(("src_lang", "tgt_lang"), self.only_languages, strict=True):
            if language:
                settings[name] = self.transformers_code(language)
        files: dict[str, bytes | dict[str, Any]] = {
            MODEL: self.vocabulary.model,
            "tokenizer_config.json": settings,
            "special_tokens_map.json": names | {"additional_special_tokens": self.codes},
        }
        if self.is_m2m100:
            settings["language_codes"] = next(name for name, codes in M2M100_TAGS.items() if codes == self.codes)
            files["vocab.json"] = {piece: token for token, piece in enumerate(self.text_pieces)}
        elif not self.is_mbart:
            # Otherwise transformers gives <mask> the id before the languages.
            first = self.table.target.index(self.codes[0])
            settings["added_tokens_decoder"] = {
                str(token): added_token(piece) for token, piece in enumerate([*self.codes, MASK], first)
            }
        return files

    def transformers_code(self, language: str) -> str:
        """The code of a language in transformers: the tag, without M2M100's underscores."""
        return self.table.tags[language].strip("_")

    def hark_side(self) -> Side:
        return hark_side(self.bundle, max_target=MAX_COMPARED_TOKENS)

    def open_side(self, folder: Path) -> Side:
        self.require_libraries()
        if not self.is_m2m100:  # transformers reads their sentencepiece models itself
            require("google.protobuf", "hf", CHECKING)
        side = transformers_side(folder, self.table, "target", self.bundle.facts.pairs[0])
        return replace(side, name=self.runtime)

    def usage(self) -> str:
        source, target = self.bundle.facts.pairs[0]
        return f"""```python
from transformers import {self.architecture}, {self.tokenizer_class}

tokenizer = {self.tokenizer_class}.from_pretrained(".", src_lang="{self.transformers_code(source)}")
model = {self.architecture}.from_pretrained(".")
inputs = tokenizer(["Text"], return_tensors="pt", padding=True)
target = tokenizer.convert_tokens_to_ids("{self.table.tags[target]}")
found = model.generate(**inputs, forced_bos_token_id=target)
print(tokenizer.batch_decode(found, skip_special_tokens=True))
```

Translate sentence by sentence. Hark normalises text first: Unicode NFC, single spaces, no invisible characters."""


def added_token(piece: str) -> dict[str, Any]:
    """A special token as tokenizer_config.json describes it."""
    return {
        "content": piece,
        "lstrip": piece == MASK,
        "normalized": False,
        "rstrip": False,
        "single_word": False,
        "special": True,
    }
