"""`hark classify`: label texts, or tag their words."""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hark.cli import options
from hark.cli.options import argument, option, switch
from hark.errors import UserError, require

if TYPE_CHECKING:
    from hark.evaluate.labels import LabelTally
    from hark.tasks.classify import Classifier, PredictedLabel

EXAMPLES = (
    'hark classify -m runs/sentiment "What a lovely film."',
    "hark classify -m runs/sentiment reviews.txt --top 3 --json",
    "hark classify -m runs/sentiment --labelled test.tsv",
)
MOST_IN_TABLE = 20
"""Labels in a confusion table; of more, the commonest are shown."""


def classify(
    words: Annotated[
        list[str] | None, argument("[TEXT|FILE|-]", "Text, or a file of lines; - or nothing for stdin.")
    ] = None,
    model: options.Model = None,
    labelled: Annotated[
        Path | None,
        option("--labelled", "FILE", "Score the model on a file with labels, in the form that hark prepare reads."),
    ] = None,
    top: Annotated[int, option("--top", "N", "Labels of each text or word.", min=1)] = 1,
    as_json: Annotated[bool, switch("--json", "Print a JSON object per line.")] = False,
    truncate: options.Truncate = False,
    errors: options.Errors = "strict",
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Label texts, or tag their words.

    The model is an encoder trained on text with labels (hark prepare classify, hark train classify). Prints the
    probability of the label, the label and the text, tabs between them. A model of pairs reads two texts with a tab
    between them. For a model that tags, words are split from signs, and each is printed with its tag, a word per line,
    with an empty line after each sentence. With --labelled: accuracy, F1, and what was taken for what.
    """
    require("torch", "train", "hark classify")
    from hark.cli.streams import find_input, read_lines
    from hark.tasks.classify import Classifier, score_labelled

    if labelled is not None and words:
        raise UserError("--labelled names the text to score; leave out the other")
    classifier = Classifier.load(model, device, threads)
    if truncate and classifier.labels.of == "words":
        raise UserError("--truncate: every word needs its tag; split long sentences instead")
    if labelled is not None:
        print_scores(score_labelled(classifier, labelled, truncate), as_json)
        return
    lines = (line.rstrip("\r\n") for line in read_lines(find_input(words or [], "read"), errors, "read"))
    write = print_tags if classifier.labels.of == "words" else print_labels
    write(classifier, (line for line in lines if line.strip()), top, as_json, truncate)


def print_labels(classifier: "Classifier", lines: Iterable[str], top: int, as_json: bool, truncate: bool) -> None:
    shown, read = tee(lines)
    texts = (split_pair(text) for text in read) if classifier.labels.pairs else read
    for text, labels in zip(shown, classifier.classify(texts, top, truncate), strict=True):
        if as_json:
            print_json({"text": text, "labels": [asdict(each) for each in labels]})
            continue
        sys.stdout.writelines(f"{each.probability:.4f}\t{each.label}\t{text}\n" for each in labels)


def split_pair(line: str) -> tuple[str, str]:
    first, tab, second = line.partition("\t")
    if not tab:
        raise UserError(f"{line[:40]!r}: the model reads two texts with a tab between them")
    return first, second


def print_tags(classifier: "Classifier", lines: Iterable[str], top: int, as_json: bool, truncate: bool) -> None:  # noqa: ARG001
    from hark.parse.parser import split_words

    shown, read = tee((line, split_words(line)) for line in lines)
    for (line, words), tags in zip(shown, classifier.tag((words for _, words in read), top), strict=True):
        pairs = list(zip(words, tags, strict=True))
        if as_json:
            print_json(
                {"text": line, "words": [{"word": word, "tags": list(map(asdict, each))} for word, each in pairs]}
            )
            continue
        sys.stdout.writelines("\t".join([word, *columns(each)]) + "\n" for word, each in pairs)
        sys.stdout.write("\n")


def columns(tags: "list[PredictedLabel]") -> Iterator[str]:
    """The tag alone, or several, each with its probability."""
    for each in tags:
        yield each.label
        if len(tags) > 1:
            yield f"{each.probability:.4f}"


def print_json(tree: object) -> None:
    sys.stdout.write(json.dumps(tree, ensure_ascii=False) + "\n")


def print_scores(tally: "LabelTally", as_json: bool) -> None:
    from hark.pages.formats import aligned

    names, counts_VV = tally.names, tally.counts_VV
    if as_json:
        scores = {name.replace(" ", "_"): round(value, 4) for name, value in tally.scores.items()}
        print_json({"total": tally.total, **scores, "labels": names, "confusion": counts_VV.tolist()})
        return
    sys.stdout.write(f"{tally.total:,} labels: " + ", ".join(f"{k} {v:.2f}%" for k, v in tally.scores.items()) + "\n")
    commonest = counts_VV.sum(1).max()
    sys.stdout.write(f"always the commonest label: accuracy {100 * commonest / tally.total:.2f}%\n\n")
    kept = sorted(sorted(range(len(names)), key=lambda label: -counts_VV[label].sum())[:MOST_IN_TABLE])
    rows = [["right \\ predicted", *(names[label] for label in kept), "F1"]]
    for label in kept:
        rows.append([names[label], *(f"{counts_VV[label, other]:,}" for other in kept), f"{tally.f1_V[label]:.1f}"])
    sys.stdout.writelines(line + "\n" for line in aligned(rows, left=0))
    if len(kept) < len(names):
        sys.stdout.write(f"(the {len(kept)} commonest of {len(names)} labels)\n")
