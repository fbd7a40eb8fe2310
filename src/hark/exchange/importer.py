"""Import of a foreign model: recognised, read without running code, compared with its own library, made a bundle."""

from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from hark.atomic import refuse_existing, refuse_overlap
from hark.bundle import Bundle, is_bundle, link_or_copy, write_bundle
from hark.errors import HarkError, UserError
from hark.exchange.foreign import ForeignModel
from hark.exchange.hub import Say, download, is_hub_name
from hark.exchange.language_codes import languages_of
from hark.exchange.parity import Side, check_sentences, compare, compare_texts, enough_logits, skipped
from hark.exchange.recognition import ImportKind, recognise
from hark.facts import ParityProof
from hark.text.opening import open_vocabularies


@dataclass(frozen=True)
class ImportRequest:
    """What to import, and how."""

    source: str
    """A folder, a file, or a name on the Hugging Face hub."""
    kind: ImportKind | None = None
    """None: by what lies there."""
    source_languages: str = ""
    """Codes separated by commas; empty: those in the model's files."""
    target_languages: str = ""
    check: bool = True
    check_file: Path | None = None
    language: str = ""
    """Of a model of one stack: codes separated by commas; empty: those in the model's files, or English."""

    @property
    def text_languages(self) -> tuple[str, ...]:
        return languages_of(self.language, "--language")

    @property
    def languages(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return languages_of(self.source_languages, "-s"), languages_of(self.target_languages, "-t")


def import_model(request: ImportRequest, folder: Path, force: bool = False, say: Say = lambda _: None) -> ParityProof:
    """Write a bundle of a foreign model; return the proof that it computes the same, which is also in its facts."""
    refuse_existing(folder, is_bundle, force)
    path, revision = Path(request.source), ""
    name = path.resolve().name
    if is_hub_name(request.source):
        name = request.source
        path, revision = download(name, say)
    refuse_overlap(folder, [path])
    kind = request.kind or recognise(path)
    say(f"reading {request.source} ({kind})")
    request = replace(request, source=name)  # facts name the model, not a path of this machine
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Beside the output, so that the weights can be linked instead of copied.
    with TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as made:
        if kind == "argos":
            from hark.exchange.import_argos import unpack

            path = unpack(path, Path(made) / "package")
        foreign = read_foreign(path, kind, request)
        if not foreign.pairs and any(request.languages):
            raise UserError(f"{name}: has no pairs of languages; name those of its text with --language, not -s and -t")
        foreign = replace(foreign, origin=replace(foreign.origin, revision=revision))
        bundle = Path(made) / "bundle"
        foreign.write(bundle)
        facts, size = foreign.facts(), sum(each.nbytes for each in foreign.weights.values())
        foreign = replace(foreign, weights={})  # the check needs the memory
        opened = Bundle.open(bundle)
        open_vocabularies(opened)  # whether the sentencepiece models are intact
        proof = prove(foreign, path, kind, opened, request, say, enough_logits(size))
        files, weights = opened.vocabulary_files, opened.weights
        facts = replace(facts, parity=(proof,))
        write_bundle(folder, opened.config, lambda to: link_or_copy(weights, to), files, facts, force, bundle)
    return proof


def read_foreign(path: Path, kind: ImportKind, request: ImportRequest) -> ForeignModel:
    """Read a model; a package must be unpacked. Whatever is wrong with its files is a UserError."""
    try:
        return _read(path, kind, request)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        problem = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UserError(
            f"{path}: cannot be read as {kind}; its files are damaged or of another form ({problem})"
        ) from None


def _read(path: Path, kind: ImportKind, request: ImportRequest) -> ForeignModel:
    match kind:
        case "huggingface":
            from hark.exchange.import_encoder import is_encoder, read_encoder
            from hark.exchange.import_huggingface import read_huggingface

            if is_encoder(path):
                return read_encoder(path, request.text_languages, request.source)
            return read_huggingface(path, request.languages, request.source, request.text_languages)
        case "gguf":
            from hark.exchange.import_gguf import read_gguf

            return read_gguf(path, request.text_languages, request.source)
        case "llama2c":
            from hark.exchange.import_llama2c import read_llama2c

            return read_llama2c(path, request.text_languages, request.source)
        case "marian":
            from hark.exchange.import_marian import read_marian_folder

            return read_marian_folder(path, request.languages, request.source)
        case "ctranslate2":
            from hark.exchange.import_ctranslate2 import read_ctranslate2

            return read_ctranslate2(path, request.languages, request.source)
        case "argos":
            from hark.exchange.import_argos import read_argos

            return read_argos(path, request.languages, request.source)


def prove(
    foreign: ForeignModel,
    path: Path,
    kind: ImportKind,
    bundle: Bundle,
    request: ImportRequest,
    say: Say,
    held: int,
) -> ParityProof:
    """Compare a bundle with the model that it was made from, in that model's own library.

    held: bytes of logits to hold at a time."""
    what = f"import from {kind}"
    name = {"huggingface": "transformers", "argos": "ctranslate2"}.get(kind, kind)
    if not request.check:
        return skipped(name, what)
    if reason := unavailable(kind):
        return replace(skipped(name, what), reason=reason)
    try:
        theirs = open_side(foreign, path, kind)
    except Exception as error:  # of any kind, from another library
        problem = (str(error).splitlines() or [type(error).__name__])[0]
        raise HarkError(
            f"{path}: {name} cannot load it, so that nothing can be compared: {problem}; see --no-check"
        ) from None
    say(f"comparing with {theirs.name}")
    from hark.exchange.hark_side import MAX_COMPARED_TOKENS, fitting_texts, hark_side, hark_text_side

    sentences = check_sentences(foreign.first_language, request.check_file)
    if foreign.config.shape == "encoder":
        from hark.exchange.encoder_parity import compare_encoders

        return compare_encoders(bundle, theirs, sentences, what=what, held=held)
    if foreign.config.shape == "decoder":
        ours = hark_text_side(bundle)
        return compare_texts(ours, theirs, fitting_texts(ours, sentences, foreign.config), what=what, held=held)
    ours = hark_side(bundle, max_target=MAX_COMPARED_TOKENS)
    texts = fitting_texts(ours, sentences, foreign.config)
    return compare(ours, theirs, texts, what=what, held=held)


def unavailable(kind: ImportKind) -> str:
    """Why the library of a kind cannot be compared with here; empty if it can."""
    match kind:
        case "huggingface":
            missing = [each for each in ("transformers", "torch") if find_spec(each) is None]
            return f"{' and '.join(missing)} not installed" if missing else ""
        case "marian":
            return "Marian has no Python library"
        case "gguf" | "llama2c":
            return "its program has no Python library that hark knows"
        case "ctranslate2" | "argos":
            return ""


def open_side(foreign: ForeignModel, path: Path, kind: ImportKind) -> Side:
    if foreign.config.shape == "encoder":
        from hark.exchange.encoder_parity import transformers_encoder

        return transformers_encoder(path, foreign.config)
    if kind == "huggingface":
        from hark.exchange.transformers_side import transformers_side, transformers_text_side

        if foreign.config.shape == "decoder":
            return transformers_text_side(path)
        pair = foreign.pairs[0] if foreign.pairs else None
        return transformers_side(path, foreign.table, foreign.language_tags, pair, foreign.config.max_positions)
    from hark.exchange.ctranslate2_original import original_side

    return original_side(path / "model" if kind == "argos" else path, foreign)
