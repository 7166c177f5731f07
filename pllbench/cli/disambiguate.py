"""`pllbench disambiguate`."""

from typing import Annotated

import typer

from pllbench.cli.predict import csv_text
from pllbench.cli.rows import (
    AnnotationsFlag,
    Data,
    ModelFile,
    known_columns,
    own_data,
    training_rows,
)
from pllbench.cli.selection import Device, Output


def disambiguate(
    model: ModelFile,
    data: Data,
    output: Output = None,
    annotations: AnnotationsFlag = None,
    seed: Annotated[int, typer.Option("--seed", help="That of fit, where it draws.", min=0)] = 0,
    device: Device = "auto",
) -> None:
    """Say which candidate of each row is the true label: CSV, a line a row.

    Its columns are row, candidates (a|b), label, confidence, and second, the next best label. Of
    the rows that the model was trained on its method's confidence decides, of others the predicted
    probabilities.
    """
    rows, sets = training_rows(own_data(data), annotations, seed)
    from pllbench.cli import console
    from pllbench.estimator import PartialLabelClassifier

    classifier = PartialLabelClassifier.load(model, device)
    try:
        names = getattr(rows, "columns", None)
        values = rows if names is None else rows.to_numpy()
        found = classifier.disambiguate(known_columns(values, names, classifier, data), sets)
    except ValueError as error:
        if str(error).startswith(str(data)):
            raise
        raise ValueError(f"{data}: {error}") from error
    lines = [["row", "candidates", "label", "confidence", "second"]]
    for number, row in enumerate(found.itertuples(index=False)):
        candidates = "|".join(map(str, row.candidates))
        second = "" if row.second is None else str(row.second)
        lines.append([str(number), candidates, str(row.label), f"{row.confidence:.6g}", second])
    console.write(csv_text(lines), output)
