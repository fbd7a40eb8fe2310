"""The learning-rate schedule."""

from hark.config import Config


def learning_rate(step: int, config: Config) -> float:
    """The paper's schedule (equation 3): `d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)`. Steps count from 1.

    The linear schedule has the same warmup and peak, then decays linearly to reach 0 one step after the last. If the
    number of steps is known in advance, it ends at a lower loss than a rate that stays high.
    """
    train = config.train
    peak = train.rate_scale * (config.model.d_model * train.warmup_steps) ** -0.5
    rising = step / train.warmup_steps
    match train.schedule:
        case "paper":
            falling = (train.warmup_steps / step) ** 0.5
        case "linear":
            falling = (train.steps + 1 - step) / (train.steps + 1 - train.warmup_steps)
    return peak * min(rising, falling)
