"""The engine: token ids in, token ids out. It knows no text.

Other rooms use these modules only: `interface` (requests and answers; submit, step, cancel, score), `opening`, the two
engines `torch` and `ctranslate2`, and `watch`, which looks into a search.
"""
