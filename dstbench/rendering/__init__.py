"""Scores as something to read: text, Markdown, LaTeX, CSV, JSON, charts."""
