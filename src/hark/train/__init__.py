"""Training with the paper's recipe (section 5). A run can be killed at any moment and resumed."""

from hark.errors import require

require("torch", extra="train", needed_by="hark.train")
