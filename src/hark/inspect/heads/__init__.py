"""Analysis of a model's heads over a corpus: what they look at, how well they align words, and how much they matter."""
