"""The paper's tables and figures as commands: the paper's figures beside our own, with what differs between them."""

from hark.errors import require

require("torch", extra="train", needed_by="hark reproduce")
