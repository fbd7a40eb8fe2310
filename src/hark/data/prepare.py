"""Dataset preparation: build the dataset that the settings describe, unless it exists.

The result depends only on the files and the settings, not on the number of processes, and it is written atomically.
"""

from dataclasses import dataclass
from pathlib import Path

from hark import configfile
from hark.atomic import new_folder, refuse_overlap
from hark.config import Config
from hark.data.build import DatasetBuild
from hark.data.corpus import corpus_files
from hark.data.dataset import Dataset
from hark.data.labels import LabelBuild
from hark.data.manifest import ROLES, Manifest, is_dataset
from hark.data.plan import make_plan
from hark.data.progress import Progress, silent
from hark.data.text_build import DocumentsPlan, TextBuild, plan_text
from hark.data.workers import available_processes
from hark.errors import HarkError, UserError

BYTES_PER_PROCESS = 1 << 21
"""With less text than this per process, starting another one costs more time than it saves."""


@dataclass(frozen=True)
class Prepared:
    """A dataset, and whether this call created it or found it on disk."""

    dataset: Dataset
    created: bool


def prepare(
    config: Config,
    folder: Path | str,
    processes: int | None = None,
    progress: Progress = silent,
    force: bool = False,
) -> Prepared:
    """Prepare the dataset that `config.data` describes in `folder`, unless it is already there.

    A different dataset in the folder is an error, unless `force` replaces it. The same dataset, damaged, is rebuilt.
    """
    folder = Path(folder)
    refuse_overlap(folder, list_inputs(config))
    progress("hashing files", 0, None)
    plan = plan_text(config) if config.data.documents else make_plan(config)
    existing = find_dataset(folder, plan.key)
    if existing is not None:
        return Prepared(existing, created=False)
    if processes is None:
        processes = min(available_processes(), 1 + plan.size // BYTES_PER_PROCESS)
    try:
        with new_folder(folder, is_dataset, force or has_key(folder, plan.key)) as partial_folder:
            build: TextBuild | DatasetBuild
            if isinstance(plan, DocumentsPlan):
                kind = LabelBuild if plan.data.labels else TextBuild
                build = kind(plan, partial_folder, processes, progress)
            else:
                build = DatasetBuild(plan, partial_folder, processes, progress)
            manifest = build.run()
            (partial_folder / "config.toml").write_text(configfile.dump(config), encoding="utf-8")
            (partial_folder / "manifest.json").write_text(manifest.to_json(), encoding="utf-8")
    except OSError as error:
        raise HarkError(f"{folder}: cannot be written: {error.strerror or error}") from error
    return Prepared(Dataset.open(folder), created=True)


def list_inputs(config: Config) -> list[Path]:
    """Return every file and folder that the dataset is built from."""
    data = config.data
    files = [path for corpus in (*data.train, *data.dev, *data.test) for path in corpus_files(corpus)]
    return [*files, *(Path(name) for name in (data.tokenizer, config.train.from_) if name)]


def has_key(folder: Path, key: str) -> bool:
    """Whether the dataset in a folder, intact or damaged, was built from the same files and settings."""
    try:
        return Manifest.read(folder).key == key
    except UserError:
        return False


def find_dataset(folder: Path, key: str) -> Dataset | None:
    """Return the dataset in the folder if it has this key and is intact, else None."""
    if not has_key(folder, key):
        return None
    try:
        dataset = Dataset.open(folder)
        dataset.verify(*ROLES)
    except UserError:
        return None
    return dataset
