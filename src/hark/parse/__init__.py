"""Constituency parsing as sequence transduction (paper, section 6.3)."""
