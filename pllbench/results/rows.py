"""Records as flat rows: one a run, for data frames, CSV and parquet. Needs no pandas."""

from collections.abc import Sequence

from pllbench.candidates.sets_spec import SetsSpec
from pllbench.grid.labels import RowLabel, row_label
from pllbench.grid.protocol import Protocol
from pllbench.results.model_selection import RULES
from pllbench.results.origins import Origins, made_on
from pllbench.results.records import Record
from pllbench.results.sources import Groups
from pllbench.validation import StrictModel

Value = str | int | float | None
"""What a cell of a row holds."""


class RunRow(StrictModel):
    """The columns that every run has; shares are fractions, and None is "has none"."""

    run_id: str
    """Identity of the run."""
    method: str
    """The method or variant, as `--methods` takes it."""
    label: str
    """Printed: the method's or variant's label, and every difference from the protocol."""
    version: int
    """Version of the method's numbers."""
    dataset: str
    """Name of the data set."""
    candidates: str | None
    """Generating process with its options, or `real`; none for methods that learn from true
    labels."""
    q: float | None
    """Rate of the process."""
    imbalance: float
    """Ratio of the largest to the smallest class of the training rows; 1: as they are."""
    seed: int
    """Seed of the run."""
    data_seed: int
    """Seed of split and candidate sets."""
    holdout: float
    """Share of the training rows kept aside."""
    network: str | None
    """Encoder; none for methods that are fitted at once."""
    epochs: int
    """Length of the run."""
    covering_rate: float | None
    """Test accuracy at the epoch with the highest covering rate on the hold-out."""
    approximated_accuracy: float | None
    """Test accuracy at the epoch with the highest approximated accuracy on the hold-out."""
    last: float | None
    """Test accuracy, last epoch."""
    last10: float | None
    """Test accuracy, mean of the last ten epochs."""
    oracle: float | None
    """Test accuracy at the best test epoch: a diagnostic, not a result."""
    epoch_covering_rate: int | None
    """The epoch (0-based) that the rule chose."""
    epoch_approximated_accuracy: int | None
    """Likewise."""
    epoch_oracle: int | None
    """Likewise."""
    class_noise: float | None
    """Share of training rows whose pseudo label is wrong, last epoch."""
    pairwise_noise: float | None
    """Share of pairs of training rows whose same/different pseudo label is wrong, last epoch."""
    num_train: int
    """Training rows, without the hold-out."""
    num_test: int
    """Test rows."""
    num_holdout: int
    """Rows kept aside."""
    mean_candidates: float
    """Mean number of candidates of a training row."""
    without_true: float | None
    """Share of training rows whose true label is no candidate."""
    candidate_digest: str
    """Digest of the candidate sets: equal for runs on the same sets."""
    data_digest: str | None
    """Content digest of the data's files."""
    seconds: float
    """Wall time of training and evaluation."""
    peak_memory_mib: float | None
    """Peak memory of the worker, or of the GPU."""
    device: str
    """`cpu`, or the name of the GPU."""
    started: str
    """UTC time, ISO 8601."""
    commit: str | None
    """Git commit of the source tree."""
    method_source: str | None
    """Digest of the method's source."""
    core_version: int
    """Version of the framework's numbers."""


def run_rows(
    records: Sequence[Record], protocol: Protocol, equal: Groups | None = None
) -> list[dict[str, Value]]:
    """One row a run, in the order of `records`, all with the same columns in the same order.

    The columns are those of `RunRow`; then, where any of the runs has them, accuracies of
    long-tailed classes by metric and rule (`balanced_last10`), the hold-out's criteria of runs
    without true labels (`covering_rate_last10`) and accuracies of further heads
    (`extra_auxiliary`).

    Args:
        records: finished runs.
        protocol: rows are labelled with what differs from it.
        equal: sources of methods that were shown to give the same numbers.
    """
    origins, labels = Origins(records, equal=equal), dict[str, RowLabel]()
    fixed: list[RunRow] = []
    for record in records:
        cell = record.spec.cell
        if cell not in labels:
            labels[cell] = row_label(record.spec, protocol)
        row = labels[cell]
        label = " ".join(row.label.split()) + origins.of_record(record)
        fixed.append(_row(record, RowLabel(row.name, label)))
    further = [_further(record) for record in records]
    names = sorted({name for values in further for name in values})
    return [
        row.model_dump() | {name: values.get(name) for name in names}
        for row, values in zip(fixed, further, strict=True)
    ]


def _row(record: Record, row: RowLabel) -> RunRow:
    spec, result, provenance = record.spec, record.result, record.provenance
    from_true = spec.labels == "true"
    return RunRow(
        run_id=record.run_id,
        method=row.name,
        label=row.label,
        version=spec.version,
        dataset=spec.dataset,
        candidates=None
        if from_true
        else SetsSpec(spec.candidates, spec.annotations, spec.pruning).text,
        q=spec.q,
        imbalance=spec.imbalance,
        seed=spec.seed,
        data_seed=spec.split_seed,
        holdout=spec.holdout,
        network=spec.train.network if spec.gradient else None,
        epochs=spec.train.epochs,
        **{rule: result.accuracy.get(rule) for rule in RULES},
        epoch_covering_rate=result.epoch.get("covering_rate"),
        epoch_approximated_accuracy=result.epoch.get("approximated_accuracy"),
        epoch_oracle=result.epoch.get("oracle"),
        class_noise=result.class_noise,
        pairwise_noise=result.pairwise_noise,
        num_train=result.num_train,
        num_test=result.num_test,
        num_holdout=result.num_holdout,
        mean_candidates=provenance.audit.mean,
        without_true=provenance.audit.without_true,
        candidate_digest=provenance.audit.digest,
        data_digest=spec.digest or made_on(record),
        seconds=provenance.seconds,
        peak_memory_mib=provenance.peak_memory_mib,
        device=provenance.device,
        started=provenance.started,
        commit=provenance.commit,
        method_source=provenance.method_source,
        core_version=spec.core_version,
    )


def _further(record: Record) -> dict[str, float]:
    """Values that only some runs have, by column."""
    result = record.result
    found = {
        f"{metric}_{rule}": value
        for metric, values in (*result.class_accuracy.items(), *result.criteria.items())
        for rule, value in values.items()
    }
    return found | {f"extra_{name}": value for name, value in result.extra.items()}
