"""Inspection of models: what attention heads look at, what they do, and what changes without them."""

from hark.errors import require

require("torch", extra="train", needed_by="hark.inspect")
