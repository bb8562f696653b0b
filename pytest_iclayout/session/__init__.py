"""The layout session: commands, documents, transcripts and their replay."""
