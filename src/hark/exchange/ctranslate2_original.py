"""The original of an imported CTranslate2 folder, run by CTranslate2 itself, as a side of a parity check."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ctranslate2  # type: ignore[import-untyped]
import numpy as np
import sentencepiece

from hark.config import DecodeConfig
from hark.engine.ctranslate2 import BY_LOG_PROB
from hark.exchange.files import read_optional_json
from hark.exchange.foreign import ForeignModel
from hark.exchange.import_ctranslate2 import read_vocabularies
from hark.exchange.parity import Ids, Side
from hark.weights import Array


def original_side(folder: Path, foreign: ForeignModel) -> Side:
    """The original folder in CTranslate2, computed in float32."""
    translator: Any = ctranslate2.Translator(str(folder), compute_type="float32", inter_threads=1, intra_threads=1)
    source, target = (
        sentencepiece.SentencePieceProcessor(model_proto=model)
        for model in (foreign.source_model, foreign.target_model)
    )
    table = foreign.table
    pieces = table.target if table.source is None else table.source
    lead = [table.tags[foreign.pairs[0][1]]] if table.tags else []
    adds_end = bool(read_optional_json(folder / "config.json").get("add_source_eos"))
    last = [table.target[table.special.end]] if table.source_end and not adds_end else []
    own_size = len(read_vocabularies(folder)[1])  # without the padding that the import may have added
    suppressed = [[table.target[token]] for token in table.special.forbidden if token < own_size]

    def translate(texts: Sequence[str], beam: int) -> list[str]:
        extra = DecodeConfig().max_extra
        found = []
        for text in texts:
            tokens = [*lead, *source.encode(text, out_type=str), *last]
            (result,) = translator.translate_batch(
                [tokens],
                beam_size=beam,
                num_hypotheses=beam,
                length_penalty=BY_LOG_PROB,
                max_input_length=0,
                max_decoding_length=min(len(tokens) + adds_end + extra, foreign.config.max_positions),
                suppress_sequences=suppressed,
                return_scores=True,
            )
            found.append(target.decode_pieces(result.hypotheses[0]).replace("\u2581", " ").strip())
        return found

    def log_probs(source_ids: Ids, target_ids: Ids) -> Array:
        source_pieces = [pieces[token] for token in (source_ids[:-1] if adds_end else source_ids)]
        target_pieces = [table.target[token] for token in target_ids]
        (found,) = translator.score_batch([source_pieces], [target_pieces], max_input_length=0)
        return np.array(found.log_probs)

    return Side(f"ctranslate2 {ctranslate2.__version__}, float32", translate, log_probs=log_probs)
