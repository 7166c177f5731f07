"""`pllbench fit`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pllbench.cli.console import print_error
from pllbench.cli.parsing import annotation_setting, key_value
from pllbench.data.catalogue import DATASETS, DatasetInfo
from pllbench.data.custom import custom_info
from pllbench.validation import FieldError

if TYPE_CHECKING:
    import pandas as pd

    from pllbench.candidates.processes import Candidates

Data = Annotated[Path, typer.Argument(help="Your own data: rows with candidate sets.")]
AnnotationsFlag = Annotated[
    str | None,
    typer.Option(
        "--annotations", help="Sets of annotators' labels: union, votes=2, top=3, draws=3"
    ),
]


def fit(
    data: Data,
    output: Annotated[Path, typer.Option("--output", help="File of the model.", metavar="FILE")],
    method: Annotated[str, typer.Option("--method", help="A method or variant.")] = "proden",
    epochs: Annotated[int | None, typer.Option("--epochs", help="Length of training.")] = None,
    stop_after: Annotated[
        int | None,
        typer.Option("--stop-after", help="Epochs that are trained, where not all, as by choose."),
    ] = None,
    network: Annotated[str | None, typer.Option("--network", help="Encoder.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A hyperparameter; may be repeated.", metavar="KEY=VALUE"),
    ] = None,
    train: Annotated[
        list[str] | None,
        typer.Option("--train", help="A train setting; may be repeated.", metavar="KEY=VALUE"),
    ] = None,
    view: Annotated[
        list[str] | None,
        typer.Option("--view", help="A view setting; may be repeated.", metavar="KEY=VALUE"),
    ] = None,
    annotations: AnnotationsFlag = None,
    seed: Annotated[int, typer.Option("--seed", help="Of initialisation and order.", min=0)] = 0,
    device: Annotated[
        str, typer.Option("--device", help="auto, cpu, cuda, or one of several GPUs as cuda:1.")
    ] = "auto",
) -> None:
    """Train a method on the candidate sets of your own data, and store the model.

    True labels are not needed, and not looked at. Without a fixed split all rows are trained on.
    """
    info = own_data(data)
    rule = annotation_rule(info, annotations)

    from pllbench.data.candidate_sets import given_sets
    from pllbench.data.dataset import load_dataset
    from pllbench.estimator import PartialLabelClassifier

    model = PartialLabelClassifier(
        method,
        epochs=epochs,
        stop_after=stop_after,
        network=network,
        hparams=dict(key_value(text, "--set") for text in set_ or ()),
        train=dict(key_value(text, "--train") for text in train or ()),
        views=dict(key_value(text, "--view") for text in view or ()),
        kind=info.kind,
        random_state=seed,
        device=device,
        verbose=True,
    )
    dataset = load_dataset(info, Path(), noisy=True)
    rows, sets = given_sets(dataset, rule, seed)
    model.fit(rows.numpy(), named_sets(sets, dataset.classes)).save(output)
    num_classes = len(model.classes_)
    print_error(f"{method} on {len(rows)} rows of {data}, {num_classes} classes: {output}")


def named_sets(sets: "Candidates", classes: Sequence[str] | None) -> "Candidates | pd.DataFrame":
    """Candidate sets [N, C] with the names of the classes, where these have any."""
    if classes is None:
        return sets
    import pandas as pd

    return pd.DataFrame(sets, columns=list(classes))


def own_data(path: Path) -> DatasetInfo:
    """The custom data at `path`.

    Raises:
        ValueError: there is none, or nothing of its forms.
    """
    if not path.exists() and str(path) in DATASETS:
        raise ValueError(f"{path}: give your own data by its path; only `run` knows names")
    return custom_info(path)


def annotation_rule(info: DatasetInfo, text: str | None) -> str | None:
    """The rule of --annotations, else `union`; None where there are no annotators' labels.

    Raises:
        ValueError: there is no such rule, or nothing that it could be applied to.
    """
    if not info.annotated:
        if text is not None:
            reason = f"{info.name} does not come with annotators' labels"
            raise FieldError("annotations", reason, text)
        return None
    return annotation_setting(text or "union").annotations
