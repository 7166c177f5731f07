"""Figures of tables and curves, without pyplot; `pllbench.reports` computes what they show."""
