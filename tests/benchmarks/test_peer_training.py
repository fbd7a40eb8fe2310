"""A peer learns, whatever its precision."""

import pytest
from benchmarks.peers import VARIANTS, Padded, Peer, peer_step

from hark.config import Config
from tests.benchmarks.test_peers import CPU, PEERS, SMOOTHING, make, ragged_batch
from tests.model.oracle import build


@pytest.mark.parametrize("kind", PEERS)
@pytest.mark.parametrize("variant", ["eager", "bf16-eager"])
def test_steps_lower_the_loss(kind: type[Peer], variant: str) -> None:
    ours = build(vocab_size=400)
    theirs, batch = make(kind, ours), ragged_batch()
    step = peer_step(theirs, Config(), CPU, [batch], VARIANTS[variant])
    before = theirs(Padded.of(batch, CPU), SMOOTHING).item()
    assert {step(number) for number in range(8)} == {batch.n_target_tokens}
    assert theirs(Padded.of(batch, CPU), SMOOTHING).item() < before - 0.5
