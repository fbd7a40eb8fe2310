"""`hark shortlist`: add a vocabulary shortlist to a model."""

import typer

from hark.cli import options

EXAMPLES = ("hark shortlist mine datasets/mine",)


def shortlist(model: options.OneModel, dataset: options.PreparedText, force: options.Force = False) -> None:
    """Speed up a model by restricting its output to likely tokens.

    Learns a vocabulary shortlist, the likely translations of each source token, from the dataset and stores it in the
    model. The dataset must have the model's tokenizer. Used with int8 on a CPU; the smaller the model, the larger the
    gain.
    """
    from dataclasses import replace

    from hark.bundle import SHORTLIST, Bundle, fact_files, write_files
    from hark.data.dataset import Dataset
    from hark.data.progress import show_progress
    from hark.data.store import SIDES
    from hark.distil.shortlist import learn_shortlist
    from hark.errors import UserError
    from hark.facts import ShortlistFacts
    from hark.models import named_folder
    from hark.text.opening import open_vocabularies, refuse_imported

    bundle = Bundle.open(named_folder(model))
    refuse_imported(bundle, "a shortlist")
    if bundle.shortlist is not None and not force:
        raise UserError(f"{bundle.folder}: already has a shortlist; replace it with --force")
    sizes = bundle.config.model
    opened = Dataset.open(dataset)
    if len(bundle.facts.pairs) == 1:
        opened = opened.towards(*bundle.facts.pairs[0])
    elif not opened.manifest.tagged:
        raise UserError(f"{dataset}: is of one pair, but the model has several; name its many-to-many dataset")
    if [opened.tokenizer(side).sha256 for side in SIDES] != [each.sha256 for each in open_vocabularies(bundle)]:
        raise UserError(
            f"{dataset}: not the model's tokenizer; prepare it with data.tokenizer={bundle.target_tokenizer}"
        )
    with show_progress() as progress:
        learnt = learn_shortlist(opened, sizes.vocab_size, sizes.source_vocab_size, progress=progress)
    facts = replace(bundle.facts, shortlist=ShortlistFacts(len(learnt.common), len(learnt.candidates)))
    write_files(bundle, {SHORTLIST: learnt.to_bytes(), **fact_files(facts, bundle.config)})
    typer.echo(f"{bundle.folder}: {len(learnt.common):,} common tokens, {len(learnt.candidates):,} other candidates")
