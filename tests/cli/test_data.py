"""`pllbench data`."""

import json
import os
import re

import pytest

from tests.commands import pllbench

REAL_DATA = os.environ.get("PLLBENCH_DATA")


def test_facts_about_a_data_set() -> None:
    facts = json.loads(pllbench("data", "digits", "--q", "0.3", "--json").out)
    assert (facts["num_rows"], facts["num_classes"], facts["candidates_min"]) == (1797, 10, 2)
    words = pllbench("data", "digits", "--q", "0.3").out
    assert re.search(r"^num rows +1797 *$", words, re.MULTILINE)
    assert re.search(r"^candidates without true +0 *$", words, re.MULTILINE)


@pytest.mark.skipif(REAL_DATA is None, reason="PLLBENCH_DATA names no folder of real data sets")
@pytest.mark.parametrize(("name", "rows"), [("cnae9", 1080), ("birdsong", 4998)])
def test_facts_about_real_data_sets(name: str, rows: int) -> None:
    facts = json.loads(pllbench("data", name, "--data-dir", REAL_DATA, "--json").out)
    assert facts["num_rows"] == rows
