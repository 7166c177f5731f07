"""Figures of tables and curves, without pyplot; `pllbench.reports` computes what they show."""

from typing import Literal

Plot = Literal["accuracy", "hparam", "noise", "curves", "ranks", "tuning"]
"""The figures that there are."""
