"""A toy of three languages that translate word for word, for tests of many-to-many models."""

import itertools
import random

import pytest
import torch

from hark import configfile
from hark.config import AugmentConfig, BatchConfig, CleanConfig, Config, CorpusConfig, DataConfig
from hark.data.dataset import Dataset
from hark.data.prepare import prepare
from hark.rundir import RunDir
from hark.train.session import run_training
from hark.train.start import resolve
from tests.sharing import build_once

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


def split_sentences():
    """Return 12 sentences for dev and test sets, and the rest for training."""
    sentences = random.Random(1).sample(SENTENCES, len(SENTENCES))
    return sentences[:12], sentences[12:]


def write_corpus(folder, name, sentences, pair, weight=1.0):
    """Write line-aligned files of a pair; return the corpus."""
    paths = []
    for language in pair:
        path = folder / f"{name}.{'-'.join(pair)}.{language}"
        path.write_text("".join(say(each, language) + "\n" for each in sentences), encoding="utf-8", newline="\n")
        paths.append(str(path))
    return CorpusConfig(*paths, name=name, weight=weight, languages=pair)


def toy_config(folder, vocab_size=600, **settings):
    """Settings of a dataset of the three languages."""
    held, rest = split_sentences()
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


TRAINING = [
    "model.d_model=64", "model.d_ff=128", "model.n_heads=4", "model.n_encoder_layers=1", "model.n_decoder_layers=1",
    "model.dropout=0", "model.norm=pre", "batches.batch_tokens=600", "batches.max_length=40", "train.warmup_steps=40",
    "train.steps=170", "train.eval_steps=170", "train.log_steps=50", "train.average_last=1", "train.device=cpu",
]  # fmt: skip

QUICKLY = [
    "train.optimiser=muon", "train.schedule=linear", "train.warmup_steps=20", "train.steps=80", "train.eval_steps=80",
    "batches.batch_tokens=300",
]  # fmt: skip
"""Learns the toy in half the time that Adam needs."""


def train_toy(dataset, folder, *overrides, resumed=False):
    """Train a model on a toy dataset in this process, with one thread; return the run."""
    config = configfile.load(None, [*TRAINING, f"data.dataset={dataset.folder}", *overrides])
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        run_training(resolve(config, dataset), RunDir(folder), dataset, resumed)
    finally:
        torch.set_num_threads(threads)
    return RunDir(folder)


@pytest.fixture(scope="session")
def many_dataset(tmp_path_factory):
    """The dataset of the toy."""

    def build(folder):
        prepare(toy_config(tmp_path_factory.mktemp("trilingual")), folder, processes=1)

    return Dataset.open(build_once(tmp_path_factory, "trilingual-dataset", build))


@pytest.fixture(scope="session")
def many_run(many_dataset, tmp_path_factory):
    """A model that translates the toy in all six directions, trained in a few seconds."""

    def build(folder):
        train_toy(many_dataset, tmp_path_factory.mktemp("trained") / "run", *QUICKLY).path.rename(folder)

    return RunDir(build_once(tmp_path_factory, "trilingual-run", build))
