"""Opening of a bundle's vocabularies, of any kind."""

from pathlib import Path

from hark.bundle import SOURCE_TOKENIZER, TOKENIZER, Bundle
from hark.errors import UserError
from hark.text.piece_vocabulary import PIECES, PieceVocabulary, open_pieces, piece_files
from hark.text.tokenizer import Tokenizer
from hark.text.vocabulary import UNTAGGED, TagScheme, Vocabulary


def open_vocabularies(bundle: Bundle) -> tuple[Vocabulary, Vocabulary]:
    """Return the source and target vocabularies; the same object if shared."""
    scheme = TagScheme.of(bundle.facts)
    match bundle.facts.vocabulary.kind:
        case "sentencepiece":
            target = Tokenizer.load(bundle.target_tokenizer, scheme=scheme)
            if bundle.source_tokenizer == bundle.target_tokenizer:
                return target, target
            return Tokenizer.load(bundle.source_tokenizer, scheme=scheme), target
        case "pieces":
            return open_pieces(bundle.folder, scheme)


def load_vocabularies(path: Path, shared: bool) -> tuple[Vocabulary, Vocabulary]:
    """Load the vocabularies that a dataset is encoded with, source and target; the same object if shared.

    path: a tokenizer.model, with the source's beside it unless `shared`, or the pieces.json of an imported model."""
    if path.name == PIECES:
        return open_pieces(path.parent, UNTAGGED)
    target = Tokenizer.load(path)
    return (target if shared else Tokenizer.load(path.with_name(SOURCE_TOKENIZER))), target


def vocabulary_path(folder: Path) -> Path:
    """The file that `load_vocabularies` needs, in a bundle or a dataset."""
    return folder / (PIECES if (folder / PIECES).is_file() else TOKENIZER)


def vocabulary_files(source: Vocabulary, target: Vocabulary) -> dict[str, bytes]:
    """The files of vocabularies in a bundle or a dataset."""
    match source, target:
        case Tokenizer(), Tokenizer():
            own = {} if source is target else {SOURCE_TOKENIZER: source.model}
            return {TOKENIZER: target.model, **own}
        case PieceVocabulary(), PieceVocabulary():
            return piece_files(target.table, source.model, target.model)
    raise UserError(f"{target.name}: a vocabulary of this kind cannot be stored")


def have_same_ids(source: Vocabulary, target: Vocabulary) -> bool:
    """Whether both sides number their pieces alike, so that a model can have one embedding for both.

    The sides of a Marian model split text differently, but have one list of pieces."""
    if isinstance(target, PieceVocabulary):
        return target.table.source is None
    return source is target


def refuse_imported(bundle: Bundle, what: str) -> None:
    """Raise an error if a bundle has the vocabulary of an imported model, or one of byte pairs."""
    if bundle.facts.vocabulary.kind != "sentencepiece":
        raise UserError(
            f"{bundle.folder}: {what} is not possible with the vocabulary of an imported model, or of running text; "
            "train a model on its translations instead (hark distil)"
        )
