"""The bundled suite: task files only; ``pytest --pyargs iclayout_tasks`` runs it."""
