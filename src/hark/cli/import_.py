"""`hark import`: make a model of hark from another program's model."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from hark.cli import options

EXAMPLES = (
    "hark import Helsinki-NLP/opus-mt-en-fr -o en-fr",
    "hark import downloads/opus-mt-en-fr -o en-fr --check sentences.txt",
    "hark import marian-model -s en -t et -o en-et",
    "hark import SmolLM2-135M-Instruct.Q4_1.gguf -o smollm2",
)


def import_(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A folder, a file, or a name on the Hugging Face hub.")
    ],
    output: options.NewModel,
    kind: Annotated[
        Literal["huggingface", "marian", "ctranslate2", "argos", "gguf", "llama2c"] | None,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="huggingface, marian, ctranslate2, argos, gguf or llama2c; recognised by default.",
        ),
    ] = None,
    source_languages: Annotated[
        str, typer.Option("-s", "--source", metavar="LANGS", help="Source languages, e.g. en or en,de.")
    ] = "",
    target_languages: Annotated[
        str, typer.Option("-t", "--target", metavar="LANGS", help="Target languages; by default all of the model.")
    ] = "",
    language: Annotated[
        str,
        typer.Option(
            "--language", metavar="LANGS", help="Languages of the text of a model that does not translate; else en."
        ),
    ] = "",
    check: Annotated[
        Path | None, typer.Option("--check", metavar="FILE", help="Also compare the translations of these sentences.")
    ] = None,
    no_check: Annotated[
        bool, typer.Option("--no-check", help="Do not compare with the original; the facts say so.")
    ] = False,
    force: options.Force = False,
) -> None:
    """Make a model of hark from another program's model.

    Reads Marian, Pegasus, BART, M2M100, NLLB, mBART-50, GPT-2, Llama, Mistral, BERT and RoBERTa in Hugging Face's form,
    Marian's own files, CTranslate2 folders, Argos packages, and models of Llama's layout in GGUF files and of llama2.c.
    It executes nothing in them. The result is compared with the original in its own library, if that is installed. With
    HARK_OFFLINE=1, nothing is downloaded.
    """
    from hark.card import describe_proof
    from hark.errors import UserError
    from hark.exchange.importer import ImportRequest, import_model

    if no_check and check is not None:
        raise UserError("--check and --no-check exclude each other; choose one")
    request = ImportRequest(source, kind, source_languages, target_languages, not no_check, check, language)
    proof = import_model(request, output, force, lambda line: typer.echo(line, err=True))
    typer.echo(f"{output}: {describe_proof(proof)}")
