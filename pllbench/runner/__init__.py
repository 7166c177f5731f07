"""Executing runs: one run from spec to record, the engines, and the grid that they work on."""
