"""Training: the paper's recipe (section 5) in a loop that fits on a screen, and that may be killed at any moment."""

from hark.errors import require

require("torch", extra="train", needed_by="hark.train")
