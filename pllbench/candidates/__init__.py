"""Candidate sets: the processes that generate them, the check of given ones, the audit of both.

The settings of a process stand in `pllbench.spec`, human candidate sets in `pllbench.data`.
"""
