"""Trials: one agent at one task, from the first prompt to the record on disk."""
