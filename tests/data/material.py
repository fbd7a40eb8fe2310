"""Parallel text that survives cleaning, for tests that prepare it."""

import random

from hark.config import AugmentConfig, CleanConfig, Config, CorpusConfig, DataConfig
from hark.data import prepare

ENGLISH = (
    ["The old man", "My little sister", "The young doctor", "Our new neighbour", "A tired worker", "The teacher"],
    ["sees", "buys", "finds", "paints", "forgets", "loves"],
    ["the red house", "a green apple", "the small garden", "the long letter", "a cold drink", "the white horse"],
    ["near the river.", "in the morning.", "after the rain.", "without a word.", "on Sunday.", "every day."],
)
GERMAN = (
    [
        "Der alte Mann",
        "Meine kleine Schwester",
        "Die junge Ärztin",
        "Unser neuer Nachbar",
        "Ein Arbeiter",
        "Der Lehrer",
    ],
    ["sieht", "kauft", "findet", "malt", "vergisst", "liebt"],
    ["das rote Haus", "einen grünen Apfel", "den Garten", "den langen Brief", "ein Getränk", "das weiße Pferd"],
    ["am Fluss.", "am Morgen.", "nach dem Regen.", "ohne ein Wort.", "am Sonntag.", "jeden Tag."],
)


def pairs(count, seed=0):
    """Return distinct sentence pairs; the last word is a number, so any count is possible."""
    chance = random.Random(seed)
    text = []
    for number in range(count):
        picks = [chance.randrange(6) for _ in range(4)]
        english, german = (" ".join(part[i] for part, i in zip(side, picks, strict=True)) for side in (ENGLISH, GERMAN))
        text.append((f"{english} {seed}-{number}", f"{german} {seed}-{number}"))
    return text


def write(folder, name, text):
    """Write two line-aligned files; return their paths."""
    paths = []
    for side, language in enumerate(("en", "de")):
        path = folder / f"{name}.{language}"
        path.write_text("".join(pair[side] + "\n" for pair in text), encoding="utf-8", newline="\n")
        paths.append(str(path))
    return paths


def prepare_variants(folder, corpora, processes=1, **shares):
    """Prepare a dataset with augmented variants."""
    train = tuple(CorpusConfig(*write(folder, name, text), name=name) for name, text in corpora.items())
    dev = (CorpusConfig(*write(folder, "dev", pairs(20))),)
    clean = CleanConfig(language=1.0)
    data = DataConfig(train=train, dev=dev, vocab_size=310, clean=clean, augment=AugmentConfig(**shares))
    return prepare(Config(data=data), folder / f"with-{processes}", processes).dataset
