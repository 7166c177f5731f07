"""Labels of rows."""

import pytest

from pllbench.reports.row_labels import common_label, settings_in


@pytest.mark.parametrize(
    ("label", "parts"),
    [
        ("CC", ("CC", [])),
        ("DASM (ours)", ("DASM (ours)", [])),
        ("CC (lr=0.1)", ("CC", ["lr=0.1"])),
        ("DASM (ours) (lr=0.1, wd=0)", ("DASM (ours)", ["lr=0.1", "wd=0"])),
        (
            "PiCO (milestones=(0.5, 0.75), queue_size=512)",
            ("PiCO", ["milestones=(0.5, 0.75)", "queue_size=512"]),
        ),
    ],
)
def test_a_label_is_a_title_and_settings(label: str, parts: tuple[str, list[str]]) -> None:
    assert settings_in(label) == parts


@pytest.mark.parametrize(
    ("labels", "common"),
    [
        (["CC", "CC (lr=0.1)"], "CC"),
        (["CC (lr=0.1)", "CC (lr=0.1, wd=0)"], "CC"),
        (["PiCO (queue_size=512)", "PiCO (queue_size=64)"], "PiCO"),
        (["CC", "CC, sum"], "CC"),
        (["Sum", "Mean (lr=0.1)"], "cc"),
    ],
)
def test_labels_have_their_start_or_their_title_in_common(labels: list[str], common: str) -> None:
    assert common_label("cc", labels) == common
