"""Candidate sets: the processes that generate them, the check of given ones, the audit of both.

The settings of a process are in `pllbench.spec`; the annotator of instance-dependent sets is a run,
so `pllbench.runner` trains it; sets that people gave come with the data, in `pllbench.data`.
"""
