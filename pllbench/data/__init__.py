"""Data sets: the catalogue, custom data, tensors, splits, audits.

Scaling and augmentation are views, in `pllbench.views`; candidate sets that are generated are in
`pllbench.candidates`.
"""
