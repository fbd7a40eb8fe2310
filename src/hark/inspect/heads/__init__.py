"""What each head of a model looks at, how well it aligns words, and what it is worth, over a corpus."""
