"""The run of one method on data that are at hand."""

import re
from typing import Any

import pytest

from pllbench.data.catalogue import DatasetInfo
from pllbench.grid.protocol import Setting
from pllbench.grid.single import single_run
from pllbench.spec import FITTED, Kind

TABLE = DatasetInfo("X", "X", "tabular", "fixed", real_candidates=True, labelled=False)


def of_kind(kind: Kind) -> DatasetInfo:
    return DatasetInfo("X", "X", kind, "fixed", real_candidates=True, labelled=False)


def test_what_is_not_set_is_the_protocols() -> None:
    spec = single_run("pico", TABLE, Setting(train={"epochs": 5}))
    assert (spec.train.network, spec.train.epochs, spec.train.lr) == ("linear", 5, 0.01)
    assert (spec.candidates, spec.seed, spec.holdout) == (None, 0, 0.0)
    assert single_run("pico", of_kind("image"), Setting()).train.network == "resnet18"
    assert single_run("pico", of_kind("image"), Setting()).train.epochs == 800


def test_a_variant_is_its_method_with_its_settings() -> None:
    plain, variant = (
        single_run(name, TABLE, Setting()) for name in ("asyco", "asyco-no-refinement")
    )
    assert variant.method == plain.method == "asyco"
    assert (plain.hparams["mu_max"], variant.hparams["mu_max"]) == (0.9, 0)


def test_a_fitted_method_has_no_train_settings() -> None:
    assert single_run("pl_knn", TABLE, Setting(hparams={"num_neighbours": 3})).train == FITTED


@pytest.mark.parametrize(
    ("name", "setting", "problem"),
    [
        ("AsyCo", {}, "method: unknown method 'AsyCo': did you mean asyco?"),
        ("supervised", {}, "method supervised: learns from true labels, not from candidate sets"),
        ("proden", {"hparams": {"tau": 1}}, "proden on X: hparams: unknown key 'tau', known: "),
        (
            "proden",
            {"train": {"lr": -1}},
            "proden on X: lr: Input should be greater than 0, got -1",
        ),
        (
            "proden",
            {"train": {"schedule": "cosine", "milestones": [0.5]}},
            "proden on tabular data: train: no run reads 'milestones' here: leave it out",
        ),
        (
            "pl_knn",
            {"train": {"lr": 0.1}},
            "pl_knn on tabular data: train: no run reads 'lr' here: leave it out",
        ),
        (
            "proden",
            {"views": {"token_rate": 0.1}},
            "proden on tabular data: views: no run reads 'token_rate' here: leave it out",
        ),
    ],
)
def test_what_no_run_reads_is_refused(name: str, setting: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}"):
        single_run(name, TABLE, Setting(**setting))
