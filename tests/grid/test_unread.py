"""Settings that the data of a run never read: in no identity, refused where nothing reads them."""

from typing import Any, get_args

import pytest
from pydantic import JsonValue

from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting, Variant, default_protocol
from pllbench.spec import VIEW_OPTIONS, Kind, ViewSpec, unread_settings

ONE_OF_EACH = {"tabular": "digits", "text": "cnae9", "image": "cifar10", "digits": "mnist"}
"""A data set of each kind."""

OTHER: dict[str, JsonValue] = {
    "scaling": "tfidf",
    "tfidf_norm": 3.0,
    "noise_std": 0.5,
    "token_rate": 0.5,
    "token_law": "unigram",
    "normalisation": "training",
    "cutout": 8,
    "autoaugment": "standard25",
}
"""Every view setting at a value that no protocol gives it."""


def runs(*datasets: str, **settings: Any) -> list[PlannedRun]:
    flags = (Setting(reason="--flag", **settings),) if settings else ()
    return plan(Selection(methods=("cc",), datasets=datasets, q=(0.1,), seeds=(0,), flags=flags))


def test_every_view_setting_is_read_by_some_kind_of_data() -> None:
    assert set(VIEW_OPTIONS) == set(get_args(Kind)) == set(ONE_OF_EACH)
    assert {name for names in VIEW_OPTIONS.values() for name in names} == set(OTHER)
    assert set(OTHER) == set(ViewSpec.model_fields)


@pytest.mark.parametrize("key", OTHER)
@pytest.mark.parametrize("kind", ONE_OF_EACH)
def test_a_view_setting_makes_another_run_where_it_is_read_alone(kind: str, key: str) -> None:
    views = {"scaling": "tfidf"} if key == "tfidf_norm" else {}  # which alone reads it
    reading = [ONE_OF_EACH[k] for k, names in VIEW_OPTIONS.items() if key in names]
    name = ONE_OF_EACH[kind]
    [plain] = [run for run in runs(*{name, *reading}, views=views) if run.spec.dataset == name]
    given = views | {key: OTHER[key]}
    [run] = [run for run in runs(*{name, *reading}, views=given) if run.spec.dataset == name]
    assert (run.spec.run_id != plain.spec.run_id) == (name in reading)
    assert (key in run.label) == (name in reading)


@pytest.mark.parametrize(
    ("dataset", "settings"),
    [
        ("digits", {"views": {"cutout": 8}}),
        ("digits", {"views": {"token_rate": 0.3}}),
        ("cnae9", {"views": {"noise_std": 0.3}}),
        ("mnist", {"views": {"scaling": "zscore"}}),
        ("digits", {"views": {"tfidf_norm": 3.0}}),  # not scaled by TF-IDF
        ("digits", {"train": {"channels_last": True}}),
        ("digits", {"train": {"schedule": "cosine"}, "views": {"cutout": 8}}),
    ],
)
def test_a_flag_that_no_run_reads_is_refused(dataset: str, settings: Any) -> None:
    flags = [
        Setting(reason=f"--{part} given", **{part: values}) for part, values in settings.items()
    ]
    with pytest.raises(ValueError, match="given: no run here reads it") as error:
        plan(Selection(methods=("cc",), datasets=(dataset,), flags=tuple(flags)))
    assert str(error.value).startswith(f"--{list(settings)[-1]} given")


def test_milestones_of_a_cosine_schedule_are_in_no_identity() -> None:
    [plain] = runs("digits", train={"schedule": "cosine"})
    [given] = runs("digits", train={"schedule": "cosine", "milestones": [0.3]})
    assert given.spec.run_id == plain.spec.run_id
    assert runs("digits", train={"milestones": [0.3]})[0].spec.train.milestones == (0.3,)


def test_what_a_variant_sets_and_its_data_do_not_read_is_no_difference() -> None:
    mine = Variant(base="cc", label="Mine", views={"cutout": 8})
    protocol = default_protocol()
    protocol = protocol.model_copy(update={"variants": {**protocol.variants, "mine": mine}})
    selected = Selection(
        methods=("cc", "mine"), datasets=("digits",), q=(0.1,), seeds=(0,), protocol=protocol
    )
    plain, varied = plan(selected)
    assert varied.spec.run_id == plain.spec.run_id
    assert (plain.label, varied.label) == ("CC", "Mine")


def test_which_settings_are_read() -> None:
    assert unread_settings("tabular", {}, {"scaling": "tfidf"}) == {
        *("token_rate", "token_law", "normalisation", "cutout", "autoaugment", "channels_last")
    }
    assert unread_settings("digits", {"schedule": "cosine"}, {}) == {
        *("scaling", "tfidf_norm", "noise_std", "token_rate", "token_law", "milestones")
    }
