"""Reports in every format: terminal, Markdown, LaTeX, CSV, JSON."""
