"""Start-up time of the command line: the median of several cold starts.

The last rows are translations with the model that comes with hark, from the command to the printed sentence.
"""

import statistics
import subprocess
import sys
import time

RUNS = 9
GREETINGS = {"de": "Where is the nearest train station?", "en": "Wo ist der nächste Bahnhof?"}
"""A sentence to translate, by the language that it is translated to."""
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    **{f"hark {words}": ["-m", "hark", words] for words in ("--help", "--version", "config", "models")},
    **{f"hark translate -t {to}": ["-m", "hark", "translate", "-t", to, text] for to, text in GREETINGS.items()},
}


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    print(f"{'command':<21} {'median s':>9} {'worst s':>9}")
    for name, command in COMMANDS.items():
        seconds(command)  # warm up: the first start fills the file and bytecode caches
        times = [seconds(command) for _ in range(RUNS)]
        print(f"{name:<21} {statistics.median(times):>9.3f} {max(times):>9.3f}")


if __name__ == "__main__":
    main()
