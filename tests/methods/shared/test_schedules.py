"""Schedules at their ends and between."""

from pllbench_methods.shared.schedules import ramp


def test_ramp_rises_to_one_and_stays() -> None:
    assert [ramp(t, 100) for t in (0, 25, 100, 150)] == [0, 0.25, 1, 1]
