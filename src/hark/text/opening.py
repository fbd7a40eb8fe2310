"""Opens the vocabularies of a bundle, of whatever kind."""

from hark.bundle import Bundle
from hark.text.tokenizer import Tokenizer
from hark.text.vocabulary import TagScheme, Vocabulary


def open_vocabularies(bundle: Bundle) -> tuple[Vocabulary, Vocabulary]:
    """Those of the source and the target; one object where both share one."""
    scheme = TagScheme.of(bundle.facts)
    match bundle.facts.vocabulary.kind:
        case "sentencepiece":
            target = Tokenizer.load(bundle.target_tokenizer, scheme=scheme)
            if bundle.source_tokenizer == bundle.target_tokenizer:
                return target, target
            return Tokenizer.load(bundle.source_tokenizer, scheme=scheme), target
