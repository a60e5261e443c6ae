"""Results as text, Markdown, LaTeX, CSV, JSON, charts and HTML pages."""
