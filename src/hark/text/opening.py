"""Opening of a bundle's vocabularies, of any kind."""

from hark.bundle import Bundle
from hark.errors import UserError
from hark.text.piece_vocabulary import open_pieces
from hark.text.tokenizer import Tokenizer
from hark.text.vocabulary import TagScheme, Vocabulary


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


def refuse_imported(bundle: Bundle, what: str) -> None:
    """Raise an error if a bundle has the vocabulary of an imported model, with which no dataset can be encoded."""
    if bundle.facts.vocabulary.kind != "sentencepiece":
        raise UserError(
            f"{bundle.folder}: {what} is not possible with an imported model, because hark prepare encodes text only "
            "with vocabularies of its own; train a model on its translations instead (hark distil)"
        )
