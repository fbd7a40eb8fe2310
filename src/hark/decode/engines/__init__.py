"""The engines: CTranslate2 for CPUs, torch for GPUs."""
