"""Export of a bundle to another program's format: atomically, and proven equal before it is called done."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from hark import manifest
from hark.atomic import new_folder, refuse_overlap
from hark.bundle import Bundle
from hark.card import describe_proof
from hark.errors import HarkError, UserError, require
from hark.exchange.exporter import Exporter, ExportPrecision
from hark.exchange.foreign import refuse_not_finite
from hark.exchange.hark_side import fitting_texts
from hark.exchange.parity import check_sentences, compare, compare_texts, enough_logits, skipped
from hark.exchange.recognition import EXPORT
from hark.facts import FACTS, ParityProof, dump_facts

FORMAT = 1
ARTICLES = {"encoder": "an", "decoder": "a"}
ExportKind = Literal["ctranslate2", "huggingface", "onnx", "argos"]


@dataclass(frozen=True)
class Export:
    """A finished export."""

    folder: Path
    storage: str
    """The data type of the matrices, and whether they were dequantised."""
    proof: ParityProof

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(path.stat().st_size for path in self.folder.iterdir())


def export_bundle(
    bundle: Bundle,
    kind: ExportKind,
    folder: Path,
    precision: ExportPrecision | None = None,
    *,
    check: bool = True,
    check_file: Path | None = None,
    force: bool = False,
) -> Export:
    """Write a bundle in the format of another program.

    The exported model is loaded with that program and compared with hark on the check sentences of the source language
    and the lines of `check_file`, unless `check` is False. The proof goes to `facts.json` in the folder.
    """
    refuse_overlap(folder, [bundle.folder])
    exporter = open_exporter(bundle, kind, precision)
    exporter.refuse()
    refuse_not_finite(exporter.weights, bundle.folder)
    facts = bundle.facts
    language = facts.pairs[0][0] if facts.pairs else facts.languages[0]
    sentences = check_sentences(language, check_file) if check else []
    try:
        with new_folder(folder, is_export, force) as partial:
            exporter.write(partial)
            proof = prove(exporter, partial, sentences)
            making = replace(facts.making, storage=exporter.storage)
            facts = replace(facts, making=making, parity=(*facts.parity, proof))
            (partial / FACTS).write_text(dump_facts(facts), encoding="utf-8")
            (partial / "README.md").write_text(exporter.readme(describe_proof(proof)), encoding="utf-8")
            manifest.seal(partial, EXPORT, FORMAT)
    except OSError as error:
        raise HarkError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return Export(folder, exporter.storage, proof)


def is_export(folder: Path) -> bool:
    """Whether a folder is an export of hark, by its manifest."""
    return manifest.is_kind(folder, EXPORT)


def prove(exporter: Exporter, folder: Path, sentences: Sequence[str]) -> ParityProof:
    """Compare an export with hark; without sentences, record that it was not compared."""
    what = f"export to {exporter.kind}, {exporter.storage}"
    if not sentences:
        return skipped(exporter.runtime, what)
    if exporter.bundle.config.model.shape == "encoder":
        from hark.exchange.encoder_parity import compare_encoders

        side = exporter.open_side(folder)
        return compare_encoders(exporter.bundle, side, sentences, what=what, bound=exporter.bound)
    ours = exporter.hark_side()
    texts = fitting_texts(ours, sentences, exporter.bundle.config.model)
    theirs, held = exporter.open_side(folder), enough_logits(exporter.bundle.weights.stat().st_size)
    compare_sides = compare_texts if exporter.bundle.config.model.shape == "decoder" else compare
    return compare_sides(ours, theirs, texts, bound=exporter.bound, what=what, held=held)


def open_exporter(bundle: Bundle, kind: ExportKind, precision: ExportPrecision | None) -> Exporter:
    """The exporter of a kind; without a precision, with the default of the kind."""
    made: type[Exporter]
    shape, config = bundle.config.model.shape, bundle.config.model
    if not bundle.facts.pairs and kind != "huggingface":
        what = "has no pairs of languages" if shape == "encoder-decoder" else f"is {ARTICLES[shape]} {shape} alone"
        raise UserError(f"{bundle.folder}: {what}, which hark does not export to {kind}; export to huggingface instead")
    match kind:
        case "ctranslate2":
            from hark.exchange.export_ctranslate2 import CTranslate2Exporter

            made = CTranslate2Exporter
        case "argos":
            from hark.exchange.export_argos import ArgosExporter

            made = ArgosExporter
        case "huggingface":
            from hark.exchange.export_encoder import EncoderExporter
            from hark.exchange.export_huggingface import MarianExporter
            from hark.exchange.export_multilingual import MultilingualExporter

            made = MultilingualExporter if bundle.facts.vocabulary.language_tags == "target" else MarianExporter
            made = EncoderExporter if shape == "encoder" else made
            if shape == "decoder":
                from hark.exchange.export_decoder import DecoderExporter

                made = DecoderExporter
            elif made is MarianExporter:
                from hark.exchange.export_text_to_text import BartExporter, T5Exporter

                if config.positions == "relative":
                    made = T5Exporter
                elif not bundle.facts.pairs or (config.positions == "learned" and config.embedding_norm):
                    made = BartExporter
        case "onnx":
            require("onnx", "onnx", "hark export --to onnx")
            from hark.exchange.export_onnx import OnnxExporter

            made = OnnxExporter
    chosen = precision or made.precisions[0]
    if chosen not in made.precisions:
        raise UserError(f"{kind} exports do not support {chosen}; choose from {', '.join(made.precisions)}")
    return made(bundle, chosen)
