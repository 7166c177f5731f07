"""The tests of the plug-in, as a third party has them."""

import pytest
from pll_frozen import Fit, Reference, Steps

from pllbench.testing import Check, method_checks

CHECKS = [(cls, check) for cls in (Steps, Fit, Reference) for check in method_checks(cls)]


@pytest.mark.parametrize(("cls", "check"), CHECKS, ids=str)
def test_conformance(cls: type, check: Check) -> None:
    check.run()
