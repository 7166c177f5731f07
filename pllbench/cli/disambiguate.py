"""`pllbench disambiguate`."""

from pathlib import Path
from typing import Annotated

import typer

from pllbench.cli.fit import AnnotationsFlag, Data, annotation_rule, named_sets, own_data
from pllbench.cli.predict import ModelFile, csv_text
from pllbench.cli.selection import Output


def disambiguate(
    model: ModelFile,
    data: Data,
    output: Output = None,
    annotations: AnnotationsFlag = None,
    seed: Annotated[int, typer.Option("--seed", help="That of fit, where it draws.", min=0)] = 0,
    device: Annotated[
        str, typer.Option("--device", help="auto, cpu, cuda, or one of several GPUs as cuda:1.")
    ] = "auto",
) -> None:
    """Say which candidate of each row is the true label: CSV, a line a row.

    Its columns are row, candidates (a|b), label, confidence, and second, the next best label. Of
    the rows that the model was trained on its method's confidence decides, of others the predicted
    probabilities.
    """
    info = own_data(data)
    rule = annotation_rule(info, annotations)

    from pllbench.cli import console
    from pllbench.data.candidate_sets import given_sets
    from pllbench.data.dataset import load_dataset
    from pllbench.estimator import PartialLabelClassifier

    classifier = PartialLabelClassifier.load(model, device)
    dataset = load_dataset(info, Path(), noisy=True)
    rows, sets = given_sets(dataset, rule, seed)
    try:
        found = classifier.disambiguate(rows.numpy(), named_sets(sets, dataset.classes))
    except ValueError as error:
        raise ValueError(f"{data}: {error}") from error
    lines = [["row", "candidates", "label", "confidence", "second"]]
    for number, row in enumerate(found.itertuples(index=False)):
        candidates = "|".join(map(str, row.candidates))
        second = "" if row.second is None else str(row.second)
        lines.append([str(number), candidates, str(row.label), f"{row.confidence:.6g}", second])
    console.write(csv_text(lines), output)
