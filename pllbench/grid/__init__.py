"""Which runs: protocol, benchmark files and a selection, resolved to one `RunSpec` a run. No torch.

Executing them is `pllbench.runner`'s; what one run may set is in `pllbench.spec`.
"""
