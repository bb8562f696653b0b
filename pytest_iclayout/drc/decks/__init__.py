"""DRC decks in KLayout's own language, run by the KLayout application through a fork server, contained.

:mod:`.pool` is what callers use, :mod:`.script_pool` for Python checkers.
"""
