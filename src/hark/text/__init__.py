"""Text: the normalisation that everything passes, and the tokenizer. No torch."""
