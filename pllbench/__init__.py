"""pllbench: the benchmark suite for partial-label learning."""
