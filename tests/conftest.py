"""Shared by all tests: one torch thread (a second one makes small tensors many times slower)."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)

# Speed is measured in benchmarks: a slow example on a busy machine is no failure.
settings.register_profile("pllbench", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pllbench")
