"""Properties of the model that hold for any weights and input."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.model.oracle import build, ragged

SEEDS = st.integers(0, 2**31)
LENGTHS = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=5)
KINDS = st.fixed_dictionaries(
    {
        "norm": st.sampled_from(["post", "pre"]),
        "positions": st.sampled_from(["sinusoidal", "learned", "rotary"]),
    }
)
FEW = settings(max_examples=15)


@given(KINDS, LENGTHS, st.data(), SEEDS)
@FEW
def test_no_position_of_the_decoder_sees_a_later_one(
    kinds: dict, lengths: list, data: st.DataObject, seed: int
) -> None:
    torch.manual_seed(seed)
    model, batch = build(**kinds), ragged(*map(list, zip(*lengths, strict=True)))
    cut = data.draw(st.integers(0, batch.target_BT.shape[1] - 1))
    changed_BT = batch.target_BT.clone()
    changed_BT[:, cut + 1 :] = torch.randint(40, changed_BT[:, cut + 1 :].shape)
    before, after = (model(batch.source_BS, target, batch.padded) for target in (batch.target_BT, changed_BT))
    torch.testing.assert_close(after[:, : cut + 1], before[:, : cut + 1], atol=1e-6, rtol=0)


@given(KINDS, LENGTHS, SEEDS)
@FEW
def test_padding_does_not_affect_the_output(kinds: dict, lengths: list, seed: int) -> None:
    torch.manual_seed(seed)
    model, batch = build(**kinds), ragged(*map(list, zip(*lengths, strict=True)))
    real_BS = torch.arange(batch.source_BS.shape[1]) < batch.source_lengths_B[:, None]
    real_BT = torch.arange(batch.target_BT.shape[1]) < batch.target_lengths_B[:, None]
    other_source = batch.source_BS.where(real_BS, torch.randint(40, batch.source_BS.shape))
    other_target = batch.target_BT.where(real_BT, torch.randint(40, batch.target_BT.shape))
    before = model(batch.source_BS, batch.target_BT, batch.padded)
    after = model(other_source, other_target, batch.padded)
    torch.testing.assert_close(after[real_BT], before[real_BT], atol=1e-6, rtol=0)


@given(st.sampled_from(["post", "pre"]), st.integers(1, 12), SEEDS)
@FEW
def test_without_positions_the_encoder_is_permutation_equivariant(norm: str, length: int, seed: int) -> None:
    torch.manual_seed(seed)
    model, batch = build(norm=norm, positions="none"), ragged([length], [1])
    order = torch.randperm(length)
    memory, permuted = (
        model.encode(source, batch.padded.positions["source"], batch.padded.patterns["encoder"])
        for source in (batch.source_BS, batch.source_BS[:, order])
    )
    torch.testing.assert_close(permuted, memory[:, order], atol=1e-5, rtol=0)


def test_with_positions_order_matters() -> None:
    for positions in ("sinusoidal", "learned", "rotary"):
        model, batch = build(positions=positions), ragged([6], [1])
        flipped = batch.source_BS.flip(1)
        layout = batch.padded
        memory = model.encode(batch.source_BS, layout.positions["source"], layout.patterns["encoder"])
        assert not torch.allclose(
            model.encode(flipped, layout.positions["source"], layout.patterns["encoder"]).flip(1), memory, atol=1e-3
        )


@given(KINDS, LENGTHS, SEEDS)
@FEW
def test_the_output_is_independent_of_the_batch(kinds: dict, lengths: list, seed: int) -> None:
    torch.manual_seed(seed)
    model, batch = build(**kinds), ragged(*map(list, zip(*lengths, strict=True)))
    together = model(batch.source_N, batch.target_N, batch.packed).split(batch.target_lengths_B.tolist())
    for i, (source, target) in enumerate(lengths):
        alone = ragged([source], [target])
        logits = model(batch.source_BS[i, :source], batch.target_BT[i, :target], alone.packed)
        torch.testing.assert_close(logits, together[i], atol=1e-5, rtol=0)
