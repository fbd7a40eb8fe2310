"""Import and export of models: other programs' models in, hark's models out, each compared with the original."""
