"""Executing runs: one run from spec to record, the engines, the grid that they work on.

The training loop is `pllbench.training`'s; which runs there are is `pllbench.grid`'s.
"""
