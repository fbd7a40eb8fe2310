"""`hark import`: make a model of hark from another program's model."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from hark.cli import options
from hark.cli.options import argument, option, switch

EXAMPLES = (
    "hark import Helsinki-NLP/opus-mt-en-fr -o en-fr",
    "hark import downloads/opus-mt-en-fr -o en-fr --check sentences.txt",
    "hark import marian-model -s en -t et -o en-et",
    "hark import SmolLM2-135M-Instruct.Q4_1.gguf -o smollm2",
)


def import_(
    source: Annotated[str, argument("SOURCE", "A folder, a file, or a name on the Hugging Face hub.")],
    output: options.NewModel,
    kind: Annotated[
        Literal["huggingface", "marian", "ctranslate2", "argos", "gguf", "llama2c"] | None,
        option("--kind", "KIND", "huggingface, marian, ctranslate2, argos, gguf or llama2c; recognised by default."),
    ] = None,
    source_languages: Annotated[str, option("-s --source", "LANGS", "Source languages, e.g. en or en,de.")] = "",
    target_languages: Annotated[
        str, option("-t --target", "LANGS", "Target languages; by default all of the model.")
    ] = "",
    language: Annotated[
        str, option("--language", "LANGS", "Languages of the text of a model that does not translate; else en.")
    ] = "",
    check: Annotated[
        Path | None, option("--check", "FILE", "Also compare the translations of these sentences.")
    ] = None,
    no_check: Annotated[bool, switch("--no-check", "Do not compare with the original; the facts say so.")] = False,
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
