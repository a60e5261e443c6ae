"""Scores as something to read: text, Markdown, CSV, JSON."""
