"""Generators: parameters and the technology's rules in, shapes out."""
