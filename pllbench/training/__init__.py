"""Training one run: its tensors, batches, loop, evaluation and checkpoints. Names no method."""
