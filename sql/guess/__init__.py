"""Guesses what messages hold: `stream` proposes a declaration, from the `types` that fit all their values."""
