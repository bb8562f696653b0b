"""Agents: the protocol, and those that come with the plugin."""
