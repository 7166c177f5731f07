"""Records as flat rows."""

from pllbench.results.model_selection import RULES
from pllbench.results.records import Record
from pllbench.results.rows import RunRow, run_rows
from pllbench.spec import FITTED, CandidateSpec
from tests.factories import PROTOCOL, make_record, make_spec


def with_result(record: Record, **fields: object) -> Record:
    return record.model_copy(update={"result": record.result.model_copy(update=fields)})


def test_a_run_is_a_row_of_its_settings_and_summaries() -> None:
    spec = make_spec(seed=7, data_seed=3, holdout=0.25, train={"epochs": 5})
    record = make_record(spec, 90.0, {"covering_rate": 88.0})
    [row] = run_rows([record], PROTOCOL)
    assert list(row) == list(RunRow.model_fields)
    assert row["run_id"] == spec.run_id
    assert (row["method"], row["version"], row["core_version"]) == ("cc", 1, 2)
    assert row["label"] == "CC (epochs=5, holdout=0.25, data_seed=3)"
    assert (row["dataset"], row["candidates"], row["q"]) == ("digits", "uniform", 0.3)
    assert (row["seed"], row["data_seed"], row["imbalance"]) == (7, 3, 1.0)
    assert (row["holdout"], row["network"], row["epochs"]) == (0.25, "linear", 5)
    rules = {rule: row[rule] for rule in RULES}
    assert rules == {
        "covering_rate": 0.88,
        "approximated_accuracy": None,
        "last": 0.9,
        "last10": 0.9,
        "oracle": 0.9,
    }
    assert (row["epoch_oracle"], row["epoch_covering_rate"]) == (0, None)
    assert (row["num_train"], row["num_test"], row["num_holdout"]) == (80, 20, 0)
    assert (row["mean_candidates"], row["without_true"]) == (3.0, 0.0)
    assert row["candidate_digest"] == "0" * 16
    assert (row["seconds"], row["device"], row["commit"]) == (0.0, "cpu", None)


def test_variants_are_named_and_references_have_no_sets() -> None:
    hparams = {"rho": 0.02, "auxiliary": False}
    variant = make_spec("asyco", hparams=hparams, changed=("auxiliary",))
    first, second = run_rows(
        [make_record(variant, 80.0), make_record(make_spec("supervised"), 95.0)], PROTOCOL
    )
    assert (first["method"], first["label"]) == ("asyco-no-auxiliary", "AsyCo w/o auxiliary")
    assert (second["candidates"], second["q"]) == (None, None)


def test_processes_have_their_options_and_real_sets_are_called_so() -> None:
    noisy = CandidateSpec(process="noisy", q=0.3, eta=0.1)
    records = [
        make_record(make_spec(candidates=noisy), 80.0),
        make_record(make_spec(dataset="birdsong", q=None), 70.0),
    ]
    assert [row["candidates"] for row in run_rows(records, PROTOCOL)] == ["noisy:eta=0.1", "real"]


def test_own_data_and_fitted_methods_have_the_digest_and_no_network() -> None:
    spec = make_spec("pl_knn", digest="abc").model_copy(update={"gradient": False, "train": FITTED})
    [row] = run_rows([make_record(spec, 80.0)], PROTOCOL)
    assert (row["network"], row["epochs"], row["data_digest"]) == (None, 1, "abc")


def test_columns_that_only_some_runs_have_are_none_in_the_others() -> None:
    plain = make_record(make_spec(), 80.0)
    tail = with_result(
        make_record(make_spec(imbalance=100.0), 60.0),
        class_accuracy={"few": {"last": 0.125}, "balanced": {"last": 0.5, "last10": 0.25}},
        extra={"auxiliary": 0.75},
    )
    first, second = run_rows([plain, tail], PROTOCOL)
    further = ["balanced_last", "balanced_last10", "extra_auxiliary", "few_last"]
    assert list(first) == list(second) == [*RunRow.model_fields, *further]
    assert [first[name] for name in further] == [None] * 4
    assert [second[name] for name in further] == [0.5, 0.25, 0.75, 0.125]


def test_runs_of_other_defaults_are_told_apart() -> None:
    old, new = (make_spec(seed=i, hparams={"tau": tau}) for i, tau in enumerate((5.0, 10.0)))
    rows = run_rows([make_record(old, 80.0), make_record(new, 81.0)], PROTOCOL)
    assert [row["label"] for row in rows] == ["CC, tau=5.0", "CC, tau=10.0"]


def test_no_records_are_no_rows() -> None:
    assert run_rows([], PROTOCOL) == []
