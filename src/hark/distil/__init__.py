"""Sequence-level distillation (Kim and Rush, 2016): a teacher translates the training text of a student."""
