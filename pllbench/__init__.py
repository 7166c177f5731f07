"""pllbench, the benchmark suite for partial-label learning.

Plug-ins import `pllbench.method`, their tests `pllbench.testing`. The rest is mapped in
`docs/architecture.md`.
"""
