"""Tools that make the models, word lists and results of this repository: `python -m tools.NAME`, from its root."""
