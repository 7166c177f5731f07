"""Rows and candidate sets of own files as a classifier takes them: by name, where they have any."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pllbench.cli.parsing import annotation_setting
from pllbench.data.catalogue import DATASETS, DatasetInfo
from pllbench.data.custom import custom_info
from pllbench.validation import FieldError

if TYPE_CHECKING:
    from pllbench.estimator import PartialLabelClassifier

Data = Annotated[Path, typer.Argument(help="Your own data: rows with candidate sets.")]
ModelFile = Annotated[Path, typer.Argument(help="A model of `fit`, or of `run --keep model`.")]
AnnotationsFlag = Annotated[
    str | None,
    typer.Option(
        "--annotations", help="Sets of annotators' labels: union, votes=2, top=3, draws=3"
    ),
]


def own_data(path: Path) -> DatasetInfo:
    """The custom data at `path`.

    Raises:
        ValueError: there is none, or nothing of its forms.
    """
    if not path.exists() and str(path) in DATASETS:
        raise ValueError(f"{path}: give your own data by its path; only `run` knows names")
    return custom_info(path)


def training_rows(info: DatasetInfo, annotations: str | None, seed: int) -> tuple[Any, Any]:
    """Rows and candidate sets of custom data: arrays, or data frames where columns have names.

    Args:
        info: the data.
        annotations: the rule of --annotations; `union` where it is None.
        seed: of what the rule draws.

    Raises:
        ValueError: the data are malformed or come without candidate sets, or there is no such rule.
    """
    rule = _annotation_rule(info, annotations)
    from pllbench.data.candidate_sets import given_sets
    from pllbench.data.dataset import load_dataset

    dataset = load_dataset(info, Path(), noisy=True)
    rows, sets = given_sets(dataset, rule, seed)
    return _named(rows.numpy(), dataset.columns), _named(sets, dataset.classes)


def rows_to_predict(path: Path, classifier: "PartialLabelClassifier") -> Any:
    """The rows of a file, in the columns that a classifier knows.

    Raises:
        ValueError: they are no rows of its kind, or a column is missing.
    """
    from pllbench.data.readers.custom import read_rows

    wanted = getattr(classifier, "feature_names_in_", None)
    rows, columns = read_rows(path, classifier.kind_, wanted)
    return known_columns(rows, columns, classifier, path)


def known_columns(rows: Any, columns: Any, classifier: "PartialLabelClassifier", path: Path) -> Any:
    """Rows [M, D] in the order of the columns that a classifier was trained on, and by their names.

    Rows without names are taken as they are.

    Raises:
        ValueError: a column is missing; the message begins with `path`.
    """
    wanted = getattr(classifier, "feature_names_in_", None)
    if wanted is None or columns is None:
        return rows if wanted is None or rows.shape[1] != len(wanted) else _named(rows, wanted)
    places = {name: place for place, name in enumerate(columns)}
    for name in wanted:
        if name not in places:
            raise ValueError(f"{path}: no column `{name}`, which the model was trained on")
    return _named(rows[:, [places[name] for name in wanted]], wanted)


def _named(values: Any, names: Any) -> Any:
    """A matrix as a data frame, where its columns have names."""
    if names is None:
        return values
    import pandas as pd

    return pd.DataFrame(values, columns=list(names))


def _annotation_rule(info: DatasetInfo, text: str | None) -> str | None:
    """The rule of --annotations, else `union`; None where there are no annotators' labels."""
    if not info.annotated:
        if text is not None:
            reason = f"{info.name} does not come with annotators' labels"
            raise FieldError("annotations", reason, text)
        return None
    return annotation_setting(text or "union").annotations
