"""The engine: token ids in, token ids out. It knows no text.

Other rooms use these modules only: `interface` (submit, step, cancel, score), `request`, `alignment_heads`, `opening`,
the two engines `torch` and `ctranslate2`, and `watch`, which looks into a search.
"""
