"""pytest-iclayout: measures whether an agent can do integrated-circuit layout work."""

__version__ = "0.1.0"
