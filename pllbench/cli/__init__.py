"""The command line: one file a command, and what commands share (`selection`, `console`).

Commands read flags, call `pllbench.api` and print; nothing is computed here.
"""
