"""`pllbench fit`."""

from pathlib import Path
from typing import Annotated

import typer

from pllbench.cli.console import print_error, require_writable
from pllbench.cli.parsing import key_value
from pllbench.cli.rows import AnnotationsFlag, Data, own_data, training_rows
from pllbench.cli.selection import Device


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
    device: Device = "auto",
) -> None:
    """Train a method on the candidate sets of your own data, and store the model.

    True labels are not needed, and not looked at. Without a fixed split all rows are trained on.
    """
    info = own_data(data)
    rows, sets = training_rows(info, annotations, seed)
    require_writable(output)
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
    model.fit(rows, sets).save(output)
    num_classes = len(model.classes_)
    print_error(f"{method} on {len(rows)} rows of {data}, {num_classes} classes: {output}")
