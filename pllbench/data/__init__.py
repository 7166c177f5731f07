"""Data sets: the catalogue, custom data, tensors, split and audit. Views are `pllbench.views`."""
