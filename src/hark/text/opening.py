"""Opening of a bundle's vocabularies, of any kind."""

from hark.bundle import Bundle
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
