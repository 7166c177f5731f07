"""Shared by all tests: one torch thread (a second one makes small tensors many times slower)."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import torch

torch.set_num_threads(1)
