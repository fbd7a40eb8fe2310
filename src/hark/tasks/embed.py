"""Sentence vectors: the mean of the hidden states of all tokens, [CLS] and [SEP] included, scaled to length 1.

So sentence-transformers computes those of all-MiniLM-L6-v2. The cosine of two vectors is their product.
"""

from collections.abc import Iterable, Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from hark.tasks.encoder import LoadedEncoder
from hark.weights import Array


def embed(encoder: LoadedEncoder, texts: Iterable[str], truncate: bool = False) -> Iterator[Array]:
    """Yield the vector of each text. One with more tokens than the model has positions is an error, unless `truncate`
    cuts it."""
    encode = encoder.vocabulary.encode_one
    inputs = (encoder.enclose(encode(text), number, truncate) for number, text in enumerate(texts, 1))
    return encoder.run(inputs, mean_vectors)


def mean_vectors(states_ND: Tensor, tokens_N: Tensor, lengths_B: Tensor) -> Sequence[Array]:  # noqa: ARG001
    means_BD = torch.segment_reduce(states_ND, "mean", lengths=lengths_B, axis=0)
    return list(F.normalize(means_BD, dim=-1).cpu().numpy())
