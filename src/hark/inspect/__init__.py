"""Looking inside: what heads attend to, what they are for, and what happens without them."""

from hark.errors import require

require("torch", extra="train", needed_by="hark.inspect")
