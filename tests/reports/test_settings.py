"""Settings of a line."""

from pllbench.reports.settings import tabulate_settings
from tests.factories import FREE, make_spec
from tests.reports.examples import texts


def test_a_setting_has_a_row_a_value_and_the_places_of_the_rarer_ones() -> None:
    specs = [make_spec(q=q, hparams={"rho": 0.5}) for q in (0.1, 0.3)]
    specs += [make_spec(dataset="cnae9", q=0.3, hparams={"rho": 1.0}, candidates=FREE)]
    rows = {texts(row)[:3]: texts(row)[3] for row in tabulate_settings(specs).rows}
    assert rows["hyperparameters", "rho", "0.5"] == "elsewhere"
    assert rows["hyperparameters", "rho", "1"] == "CNAE-9 (q = 0.3)"
    assert rows["candidates", "policy", "free"] == "CNAE-9 (q = 0.3)"
    assert rows["train", "milestones", "0.5, 0.75"] == "everywhere"
    assert rows["run", "data_seed", "None"] == "everywhere"
    assert not any(setting in ("q", "process") for _, setting, _ in rows)
