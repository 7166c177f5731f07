"""Finished and unfinished runs on disk: records, curves, workspaces, their state. No torch."""
