"""Candidate sets: processes that generate them, rules for annotators' labels, pruning, audits.

The settings of a process are in `pllbench.spec`; the annotator of instance-dependent sets is a run,
so `pllbench.runner` trains it; sets that people gave come with the data, in `pllbench.data`.
"""
