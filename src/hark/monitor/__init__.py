"""What a person sees of a run: the live panel, plain log lines, the list of runs and their curves."""
