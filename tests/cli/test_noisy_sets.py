"""Runs on sets that miss true labels: no flag permits them, and what is missing is said."""

import json
from pathlib import Path

import pytest

from pllbench.results.records import read_records
from tests.commands import pllbench

NOISY = ("--candidates", "noisy_swap:eta=0.3")


def test_the_audit_of_a_run_says_what_share_misses_the_truth(tmp_path: Path) -> None:
    grid = ("--methods", "cc", "--datasets", "digits", "--q", "0.3", "--seeds", "1", *NOISY)
    answer = pllbench("run", *grid, "--epochs", 1, "--jobs", 1, "--results", tmp_path)
    assert answer.code == 0, answer.err
    (record,), _ = read_records(tmp_path)
    audit = record.provenance.audit
    assert audit.without_true == pytest.approx(0.3, abs=0.04)
    facts = json.loads(pllbench("data", "digits", "--q", 0.3, *NOISY, "--json").out)
    assert facts["candidates_without_true"] == audit.without_true
    assert facts["candidates_mean"] == audit.mean
