"""Which runs: protocol, benchmarks and a selection, resolved to one `RunSpec` a run. No torch."""
