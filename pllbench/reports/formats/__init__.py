"""Tables and reports in every format: terminal, Markdown, LaTeX, CSV, JSON."""
