"""Runs on disk: records and curves of finished ones, workspaces of the others. No torch.

What is said about them is in `pllbench.reports`; checkpoints are `pllbench.training`'s.
"""
