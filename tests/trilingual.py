"""A toy of three languages that translate word for word, for tests of many-to-many models."""

import itertools
import random

from hark.config import AugmentConfig, BatchConfig, CleanConfig, Config, CorpusConfig, DataConfig

LANGUAGES = ("de", "en", "fr")
WORDS = {
    "en": ("Tom Anna Peter Mary", "sees buys paints forgets", "houses apples letters horses", "today often never"),
    "de": ("Udo Inge Jürgen Gerda", "sieht kauft malt vergisst", "Häuser Äpfel Briefe Pferde", "heute oft nie"),
    "fr": ("Luc Zoé Pierre Odile", "voit achète peint oublie", "maisons pommes lettres chevaux", "souvent hier jamais"),
}
SENTENCES = list(itertools.product(range(4), range(4), range(4), range(3)))
PAIRS = (("en", "de"), ("en", "fr"), ("fr", "de"))
DIRECTIONS = sorted(pair for one, other in PAIRS for pair in ((one, other), (other, one)))


def say(sentence, language):
    """Return one of SENTENCES in a language."""
    return " ".join(part.split()[i] for part, i in zip(WORDS[language], sentence, strict=True))


def write_corpus(folder, name, sentences, pair, weight=1.0):
    """Write line-aligned files of a pair; return the corpus."""
    paths = []
    for language in pair:
        path = folder / f"{name}.{'-'.join(pair)}.{language}"
        path.write_text("".join(say(each, language) + "\n" for each in sentences), encoding="utf-8", newline="\n")
        paths.append(str(path))
    return CorpusConfig(*paths, name=name, weight=weight, languages=pair)


def toy_config(folder, vocab_size=340, **settings):
    """Settings of a dataset of the three languages: 12 sentences are held out of 192, other sentences for each pair."""
    sentences = random.Random(1).sample(SENTENCES, len(SENTENCES))
    held, rest = sentences[:12], sentences[12:]
    train = tuple(write_corpus(folder, "toy", rest, pair) for pair in PAIRS)
    dev = tuple(write_corpus(folder, "dev", held, pair) for pair in PAIRS)
    test = tuple(write_corpus(folder, "test", held[:4], pair) for pair in PAIRS)
    data = DataConfig(
        many=True,
        train=train,
        dev=dev,
        test=test,
        vocab_size=vocab_size,
        clean=CleanConfig(language=1.0, held_out=settings.pop("held_out", True)),
        augment=AugmentConfig(**settings.pop("augment", {})),
        **settings,
    )
    return Config(data=data, batches=BatchConfig(batch_tokens=1000, max_length=40))
