"""Oracles: checkers, their registry, the judge and the two-way gate."""
