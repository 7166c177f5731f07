"""The conformance suite: what every method must satisfy, for the plug-ins of third parties too.

In a plug-in's own tests:

    @pytest.mark.parametrize("check", method_checks(MyMethod), ids=str)
    def test_conformance(check):
        check.run()

or `pllbench check module:MyMethod` on the command line. The checks use default hyperparameters, a
small problem on the CPU and, wherever they can, the real trainer.
"""

from pllbench.testing.suite import Check, method_checks

__all__ = ["Check", "method_checks"]
