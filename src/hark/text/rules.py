"""The rules by which Hark itself, not a model, writes part of a translation, each with its switch.

Text in digits stays as typed unless one of these rules can show what it is. `benchmarks/rules.py` measures what each
gains, and that it changes nothing else; a rule that does not pay is deleted.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

Rule = Literal["phrases", "typing", "spoken times", "digital times", "prices", "quantities", "thousands"]

RULES: Mapping[Rule, tuple[bool, str]] = MappingProxyType(
    {
        "phrases": (True, "a line that is exactly a greeting, a button or a letter formula comes from a table"),
        "typing": (True, "dont, schoen and sooo are corrected before translation"),
        "spoken times": (True, "half past three is halb vier"),
        "digital times": (True, "6:45 pm is 18:45 Uhr; 20:00 stays 20:00"),
        "prices": (True, "$1.50 is 1,50 $"),
        "quantities": (True, "a number with a unit or a percent sign has the separators of the target language"),
        "thousands": (True, "a number with groups of thousands has the separators of the target language"),
    }
)
"""Each rule: whether it is on, and what it does."""

Rules = frozenset[Rule]
ON: Rules = frozenset(rule for rule in get_args(Rule) if RULES[rule][0])
"""The rules that are on: what `Options.rules` is unless a benchmark or a test says otherwise."""
