"""Text processing: normalisation, tokenizers, sentence splitting, numbers, spelling. Nothing here imports torch."""
