"""`pllbench predict`."""

import csv
import io
from pathlib import Path
from typing import Annotated

import typer

from pllbench.cli.rows import ModelFile, rows_to_predict
from pllbench.cli.selection import Device, Output


def predict(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(help="Rows: a .csv or .parquet table, or `x` of a .npz.")],
    output: Output = None,
    device: Device = "auto",
) -> None:
    """Predict the labels of rows with a stored model: CSV, a line a row.

    Its columns are row, label and p_CLASS, the probability of each class.
    """
    from pllbench.cli import console
    from pllbench.estimator import PartialLabelClassifier

    classifier = PartialLabelClassifier.load(model, device)
    try:
        probabilities = classifier.predict_proba(rows_to_predict(data, classifier))
    except ValueError as error:
        if str(error).startswith(str(data)):
            raise
        raise ValueError(f"{data}: {error}") from error
    classes = classifier.classes_
    lines = [["row", "label", *(f"p_{name}" for name in classes)]]
    for number, row in enumerate(probabilities):
        lines.append([str(number), str(classes[row.argmax()]), *(f"{p:.6g}" for p in row)])
    console.write(csv_text(lines), output)


def csv_text(lines: list[list[str]]) -> str:
    """Lines of fields as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()
