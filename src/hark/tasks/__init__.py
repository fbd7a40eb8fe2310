"""What models of one stack do: text in, text out."""
