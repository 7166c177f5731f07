"""Training one run: its tensors, batches, steps, evaluation and checkpoints. Names no method.

Methods are plug-ins (`pllbench.method`); where and when a run is trained is `pllbench.runner`'s.
"""
