"""Export to an Argos package, which Argos Translate and so LibreTranslate install: a zip file with a CTranslate2 model,
its sentencepiece vocabulary, and a rule-based sentence splitter, so that nothing is downloaded."""

import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from hark import card
from hark.errors import UserError
from hark.exchange.export_ctranslate2 import CTranslate2Exporter, ctranslate2_side
from hark.exchange.parity import Side

SPLITTER = """[nlp]
lang = "xx"
pipeline = []
disabled = []
batch_size = 1000
before_creation = null
after_creation = null
after_pipeline_creation = null
tokenizer = {"@tokenizers":"spacy.Tokenizer.v1"}

[components]
"""
"""An empty spaCy model, to which Argos adds a splitter at sentence-final punctuation of all scripts. Without a splitter
in the package, Argos downloads one at the first translation."""
EMPTY_MAP = b"\x80"
"""An empty map in MessagePack: spaCy's tokenizer with its defaults."""
DATE = (1980, 1, 1, 0, 0, 0)
"""The time of the files in the package, so that the same model gives the same bytes."""


@dataclass(frozen=True)
class ArgosExporter(CTranslate2Exporter):
    """Writes one .argosmodel file."""

    kind: ClassVar[str] = "argos"

    def refuse(self) -> None:
        facts, folder = self.bundle.facts, self.bundle.folder
        if len(facts.pairs) > 1 or facts.vocabulary.language_tags != "none":
            raise UserError(
                f"{folder}: translates several language pairs, and an Argos package has one; use ctranslate2"
            )
        if not self.is_shared:
            raise UserError(f"{folder}: has two vocabularies, and an Argos package has one; use ctranslate2")
        super().refuse()

    @property
    def package_name(self) -> str:
        source, target = self.bundle.facts.pairs[0]
        return f"translate-{source}_{target}-1_0"

    def write(self, folder: Path) -> None:
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as package:
            for name, data in self.package_files():
                package.writestr(zipfile.ZipInfo(f"{self.package_name}/{name}", DATE), data, zipfile.ZIP_DEFLATED)
        (folder / f"{self.package_name}.argosmodel").write_bytes(content.getvalue())

    def package_files(self) -> Iterator[tuple[str, bytes]]:
        source, target = self.bundle.facts.pairs[0]
        metadata = {
            "package_version": "1.0",
            "argos_version": "1.9",
            "from_code": source,
            "from_name": card.LANGUAGES.get(source, source),
            "to_code": target,
            "to_name": card.LANGUAGES.get(target, target),
            "type": "translate",
        }
        yield "metadata.json", json.dumps(metadata, indent=1).encode()
        yield "README.md", self.bundle.card.encode()
        yield from self.sentencepiece_files().items()
        for name, content in self.model_files().items():
            yield f"model/{name}", content
        meta = {"lang": "xx", "name": "sentencizer", "version": "1.0.0", "spacy_version": ">=3.0,<4.0"}
        yield "spacy/config.cfg", SPLITTER.encode()
        yield "spacy/meta.json", json.dumps(meta).encode()
        yield "spacy/tokenizer", EMPTY_MAP

    @property
    def runtime(self) -> str:
        try:
            installed = f" of argostranslate {version('argostranslate')}"
        except PackageNotFoundError:
            installed = " of Argos Translate"
        return f"{super().runtime}, the engine{installed}"

    def open_side(self, folder: Path) -> Side:
        """The package in CTranslate2 and sentencepiece, which Argos Translate calls."""
        with TemporaryDirectory() as unpacked, zipfile.ZipFile(folder / f"{self.package_name}.argosmodel") as package:
            package.extractall(unpacked)
            root = Path(unpacked) / self.package_name
            return ctranslate2_side(self, root / "model", root)

    def usage(self) -> str:
        file = f"{self.package_name}.argosmodel"
        source, target = self.bundle.facts.pairs[0]
        return f"""```python
import argostranslate.package, argostranslate.translate

argostranslate.package.install_from_path("{file}")
print(argostranslate.translate.translate("Text", "{source}", "{target}"))
```

For LibreTranslate, install the package in the same way as the user who runs the server, and restart the server. The
package splits text at sentence-final punctuation; Argos Translate uses this splitter with `ARGOS_CHUNK_TYPE=SPACY`."""
