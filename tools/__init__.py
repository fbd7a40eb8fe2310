"""What makes the models, tables and results of this repository: `python -m tools.NAME`, from its root."""
