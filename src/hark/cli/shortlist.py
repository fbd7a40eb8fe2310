"""`hark shortlist`: a model that chooses from fewer tokens."""

import typer

from hark.cli import options

EXAMPLES = ("hark shortlist mine datasets/mine",)


def shortlist(model: options.OneModel, dataset: options.PreparedText, force: options.Force = False) -> None:
    """Let a model choose from likely tokens only, which is faster.

    They are those that can translate a sentence's own; the smaller a model, the more that saves. The list is learnt
    from the dataset, which must have the model's tokenizer, and stored in the model. It is used where hark computes in
    int8 on a CPU.
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
