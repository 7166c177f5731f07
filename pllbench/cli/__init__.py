"""The command line: one file a command, and what commands share.

`selection` has the flags that select runs, `parsing` says what the text of a flag means, `console`
and `progress` print. What is computed from records is `pllbench.api`'s; a command prints it. By
themselves, commands only choose an engine (`run`), count what is done of a plan or a benchmark
(`run --dry-run`, `list`), audit data (`data`) and run the checks of a method (`check`).
"""
