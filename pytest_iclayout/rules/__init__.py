"""Rules: a sentence, layouts that break it or not, and decks that are to tell which."""
