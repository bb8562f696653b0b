"""Suites of tasks on disk: frozen models, loaders, manifests, and what an agent is shown of a task."""
