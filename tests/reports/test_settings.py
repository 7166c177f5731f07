"""Settings of a line."""

from pllbench.reports.settings import tabulate_settings
from pllbench.spec import RunSpec
from tests.factories import FREE, make_spec
from tests.reports.examples import texts


def rows(*specs: RunSpec) -> dict[tuple[str, ...], str]:
    """Where each value holds, by part, setting and value."""
    return {texts(row)[:3]: texts(row)[3] for row in tabulate_settings(specs).rows}


def test_a_setting_has_a_row_a_value_and_the_places_of_the_rarer_ones() -> None:
    specs = [make_spec(q=q, hparams={"rho": 0.5}) for q in (0.1, 0.3)]
    specs += [make_spec(dataset="cnae9", q=0.3, hparams={"rho": 1.0}, candidates=FREE)]
    found = rows(*specs)
    assert found["hyperparameters", "rho", "0.5"] == "elsewhere"
    assert found["hyperparameters", "rho", "1"] == "CNAE-9"
    assert found["candidates", "policy", "free"] == "CNAE-9"
    assert found["train", "milestones", "0.5, 0.75"] == "everywhere"
    assert found["run", "data_seed", "None"] == "everywhere"
    assert not any(setting in ("q", "process") for _, setting, _ in found)


def test_rates_are_named_where_a_value_holds_at_some_of_a_data_set_alone() -> None:
    specs = [make_spec(q=q, train={"lr": 0.5 if q == 0.7 else 0.1}) for q in (0.1, 0.3, 0.7)]
    assert rows(*specs)["train", "lr", "0.5"] == "Digits (q = 0.7)"


def test_what_the_runs_do_not_read_is_left_out() -> None:
    tabular, text = rows(make_spec()), rows(make_spec(dataset="cnae9"))
    assert ("views", "noise_std", "0.1") in tabular.keys() - text.keys()
    assert ("views", "token_rate", "0.1") in text.keys() - tabular.keys()
    assert not any(setting in ("cutout", "channels_last") for _, setting, _ in tabular)
    fitted = rows(make_spec().model_copy(update={"gradient": False}))
    assert {part for part, _, _ in fitted} == {"views", "candidates", "run"}
