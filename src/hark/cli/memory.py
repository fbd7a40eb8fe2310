"""`hark memory`: add corrected translations to a translation memory."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from hark.cli import options
from hark.cli.options import argument, option

EXAMPLES = ("hark memory add letter.docx letter.de.docx --memory approved.tmx",)


def memory(
    action: Annotated[  # noqa: ARG001
        Literal["add"], argument("ACTION", "add: add the pairs of two documents.")
    ],
    source_file: Annotated[Path, argument("FILE", "A document.")],
    corrected: Annotated[Path, argument("FILE", "Its translation, as a person approved it.")],
    memory_file: Annotated[Path, option("--memory", "FILE", "The memory, .tmx or .sqlite; made if it is missing.")],
    source: Annotated[str | None, option("-s --source", "LANG", "Language of the document; else detected.")] = None,
    target: Annotated[str | None, option("-t --target", "LANG", "Language of the translation; else detected.")] = None,
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
