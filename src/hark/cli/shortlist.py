"""`hark shortlist`: a model that chooses from fewer tokens."""

from pathlib import Path
from typing import Annotated

import typer

from hark.cli import options


def shortlist(
    model: Annotated[str, typer.Argument(help="A bundle: its folder, a run or a name.")],
    dataset: Annotated[
        Path, typer.Argument(help="A prepared dataset, in either direction, with the model's tokenizer.")
    ],
    force: options.Force = False,
) -> None:
    """Let a model choose from those tokens only that can translate a sentence's own: a small one is much faster so.

    The list is learnt from the dataset, and stored in the bundle. It is used where hark computes in int8 on a CPU.
    """
    from dataclasses import replace

    from hark.bundle import SHORTLIST, Bundle, fact_files, write_files
    from hark.data.dataset import Dataset
    from hark.data.progress import show_progress
    from hark.distil.shortlist import learn_shortlist
    from hark.errors import UserError
    from hark.facts import ShortlistFacts
    from hark.models import named_folder

    bundle = Bundle.open(named_folder(model))
    if bundle.shortlist is not None and not force:
        raise UserError(f"{bundle.folder}: has a shortlist already; replace it with --force")
    data, sizes = bundle.config.data, bundle.config.model
    opened = Dataset.open(dataset).towards(data.source, data.target)
    if (opened.tokenizer("source").model, opened.tokenizer("target").model) != tuple(
        path.read_bytes() for path in (bundle.source_tokenizer, bundle.target_tokenizer)
    ):
        raise UserError(f"{dataset}: has another tokenizer; prepare it with data.tokenizer={bundle.target_tokenizer}")
    with show_progress() as progress:
        found = learn_shortlist(opened, sizes.vocab_size, sizes.source_vocab_size, progress=progress)
    facts = replace(bundle.facts, shortlist=ShortlistFacts(len(found.common), len(found.candidates)))
    write_files(bundle, {SHORTLIST: found.to_bytes(), **fact_files(facts, bundle.config)})
    typer.echo(f"{bundle.folder}: {len(found.common):,} common tokens, {len(found.candidates):,} candidates of others")
