"""Data: from raw parallel text to batches of tokens.

`prepare` writes a dataset, `Dataset.open` opens one, `make_batches` streams its batches. Nothing here imports torch.
"""

from hark.data.batches import make_batches
from hark.data.corpus import read_pairs
from hark.data.dataset import Dataset
from hark.data.prepare import Prepared, prepare
from hark.data.store import StoreWriter, TokenStore

__all__ = ["Dataset", "Prepared", "StoreWriter", "TokenStore", "make_batches", "prepare", "read_pairs"]
