"""Figures of tables and curves, without pyplot."""
