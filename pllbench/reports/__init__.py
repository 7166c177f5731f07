"""What records say: tables, statistics, tests, ranks, comparisons. No torch.

Reading records is `pllbench.results`'s. `formats` write what is said here, `plots` draw it.
"""
