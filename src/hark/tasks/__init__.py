"""What models of one stack do: generate, fill, embed, classify."""
