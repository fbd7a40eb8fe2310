"""Monitoring of training runs: the live panel, log lines, the list of runs and their curves."""
