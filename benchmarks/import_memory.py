"""Time and peak memory of `hark import` for a model in the shape of OPUS-MT (6+6 layers, 512, vocabulary 58,101).

    python -m benchmarks.import_memory              with the check against transformers, and with --no-check
    python -m benchmarks.import_memory --tiny       a tiny model, to check that it runs
    python -m benchmarks.import_memory FOLDER       one import of a folder, in this process

Each import runs in a new process, which first imports torch, transformers and CTranslate2: what they take is the
baseline. Peak memory is the process's maximum resident set size (VmHWM), files that are mapped included; the ratio is
(peak - baseline) / size of the weights in float32. Random weights: translations are as long as they may be, so the
check costs more than with a real model.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hark.exchange.importer import ImportRequest, import_model


def memory(field: str) -> int:
    """Bytes of this process: VmRSS now, VmHWM at most so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def measure(folder: Path, check: bool) -> dict[str, float]:
    """Import a folder in this process."""
    if check:
        import ctranslate2  # type: ignore[import-untyped]  # noqa: F401
        from transformers import AutoTokenizer, MarianMTModel, MarianTokenizer  # type: ignore  # noqa: F401
    baseline, start = memory("VmRSS"), time.perf_counter()
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        proof = import_model(ImportRequest(str(folder), check=check), Path(made) / "imported")
    seconds = time.perf_counter() - start
    assert proof.skipped != check
    return {"baseline": baseline, "peak": memory("VmHWM"), "seconds": seconds}


def measure_apart(folder: Path, check: bool) -> dict[str, float]:
    """Import a folder in a new process."""
    options = [] if check else ["--no-check"]
    command = [sys.executable, "-m", "benchmarks.import_memory", str(folder), *options]
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(run.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--no-check", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    arguments = parser.parse_args()
    if arguments.folder is not None:
        print(json.dumps(measure(arguments.folder, not arguments.no_check)))
        return
    from benchmarks.opus_mt import TINY, OpusShape, write_opus_mt

    with tempfile.TemporaryDirectory() as made:
        folder = write_opus_mt(Path(made) / "opus-mt-en-de", TINY if arguments.tiny else OpusShape())
        weights = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
        print(f"random weights, {weights / 2**20:.0f} MiB in float32")
        for check in (True, False):
            found = measure_apart(folder, check)
            baseline, peak, seconds = found["baseline"], found["peak"], found["seconds"]
            above = peak - baseline
            print(
                f"{'with the check' if check else 'with --no-check'}: {seconds:.1f} s, peak {peak / 2**20:.0f} MiB, "
                f"{above / 2**20:.0f} MiB above the {baseline / 2**20:.0f} MiB of the libraries: "
                f"{above / weights:.2f} times the weights",
                flush=True,
            )


if __name__ == "__main__":
    main()
