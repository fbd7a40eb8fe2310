"""`hark memory`: add corrected translations to a translation memory."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from hark.cli import options

EXAMPLES = ("hark memory add letter.docx letter.de.docx --memory approved.tmx",)


def memory(
    action: Annotated[  # noqa: ARG001
        Literal["add"], typer.Argument(metavar="ACTION", help="add: add the pairs of two documents.")
    ],
    source_file: Annotated[Path, typer.Argument(metavar="FILE", help="A document.")],
    corrected: Annotated[Path, typer.Argument(metavar="FILE", help="Its translation, as a person approved it.")],
    memory_file: Annotated[
        Path, typer.Option("--memory", metavar="FILE", help="The memory, .tmx or .sqlite; made if it is missing.")
    ],
    source: Annotated[
        str | None, typer.Option("-s", "--source", metavar="LANG", help="Language of the document; else detected.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("-t", "--target", metavar="LANG", help="Language of the translation; else detected.")
    ] = None,
    model: options.Model = None,
) -> None:
    """Add corrected translations to a translation memory.

    hark translate --memory then uses them wherever the same text occurs. Documents with different numbers of paragraphs
    are aligned sentence by sentence first; doubtful pairs are left out.
    """
    from hark.cli.align import EvidenceFinder, find_languages, read_file
    from hark.documents.alignment import Evidence, pair_corrected
    from hark.documents.memory import add_to_memory

    documents = read_file(source_file), read_file(corrected)
    languages = find_languages(documents, (source_file, corrected), (source, target))
    same = len(documents[0].segments) == len(documents[1].segments)
    evidence = Evidence() if same else EvidenceFinder(model, use_model=True).find(*languages)
    pairs, dropped = pair_corrected(*documents, languages, evidence)
    new, replaced = add_to_memory(memory_file, pairs, *languages)
    note = f"; {dropped:,} doubtful pairs left out" if dropped else ""
    sys.stderr.write(f"{memory_file}: added {new:,} translations, replaced {replaced:,}{note}\n")
