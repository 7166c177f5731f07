"""What pages of data sets say of them: facts of the catalogue, and the audit of their files.

    PLLBENCH_DATA=FOLDER python -m tools.site.datasets

renews both in all pages of `docs/datasets`, the audit where the files are at hand.
"""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pllbench.candidates.audit import audit_candidates
from pllbench.candidates.processes import Candidates, TrueLabels, generate
from pllbench.data.audit import describe
from pllbench.data.catalogue import DATASETS, DatasetInfo
from pllbench.data.dataset import load_dataset, split
from pllbench.grid.protocol import default_protocol
from pllbench.spec import CandidateSpec
from tools.site.markdown import code, table
from tools.site.places import DOCS

SEED = 0
"""Of the split and of the candidate sets that the pages describe."""

_KINDS = {
    "tabular": "tabular",
    "text": "text (word counts)",
    "image": "image",
    "digits": "image (never mirrored or cropped)",
}
_SPLITS = {
    "random": "20 % test rows at random, anew for each seed",
    "stratified": "20 % test rows of every class, anew for each seed",
    "fixed": "the published one",
    "folds": "a fold by the seed; another one is left aside",
}
_AUDITED = {
    "num_rows": "rows",
    "num_features": "features",
    "num_classes": "classes",
    "absent_classes": "classes that are nobody's true label",
    "constant_columns": "constant columns",
    "zero_rows": "rows of zeros",
    "duplicate_rows": "rows that repeat an earlier row",
    "num_train": "training rows",
    "num_test": "test rows",
    "leaked_rows": "test rows whose features are also a training row's",
    "digest": "digest",
}


def _origin_of_sets(info: DatasetInfo) -> str:
    if info.annotated:
        return "labels of several annotators, of which a rule makes sets"
    return "come with it" if info.real_candidates else "generated"


def facts(info: DatasetInfo) -> str:
    """What the catalogue says of a data set."""
    if info.file is None:
        way = "ships with scikit-learn"
    elif info.downloads:
        way = "downloaded by the first run that finds no file"
    else:
        way = "by hand, from its source"
    rows = [
        ("name", code(info.name)),
        ("kind", _KINDS[info.kind]),
        ("split", _SPLITS[info.split]),
        ("candidate sets", _origin_of_sets(info)),
        ("file below the data folder", code(info.file or "")),
        ("how to get it", way),
        ("source", f"<{info.source}>" if info.source else ""),
    ]
    return table(("catalogue", ""), [row for row in rows if row[1]])


def audit(info: DatasetInfo, data_dir: Path) -> str:
    """The audit of a data set and its candidate sets, with the numbers of `pllbench data`.

    Raises:
        ValueError: a missing or malformed file.
    """
    dataset = load_dataset(info, data_dir)
    found = describe(dataset, SEED)
    rows = [(words, _said(getattr(found, key))) for key, words in _AUDITED.items()]
    train, _ = split(dataset, SEED)
    truth = TrueLabels(dataset.y[train].numpy(), dataset.num_classes, info.superclasses)
    sets = []
    if dataset.candidates is not None:
        sets.append(_sets("real", dataset.candidates[train].numpy(), truth))
    else:
        for rate in default_protocol().q[info.name]:
            spec = CandidateSpec(process="uniform", q=rate)
            sets.append(_sets(f"uniform, q = {rate:g}", generate(truth, spec, SEED), truth))
    heads = ("candidates", "mean", "least", "most", "one candidate", "all", "without the true one")
    return "\n\n".join((table(("audit", f"seed {SEED}"), rows), table(heads, sets, heads[1:])))


def _said(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        listed = ", ".join(map(str, value))
        return f"{len(value)} ({listed})" if value else "none"
    return f"{value:,}" if isinstance(value, int) else code(value)


def _sets(name: str, candidates: Candidates, truth: TrueLabels) -> Sequence[str]:
    found = audit_candidates(candidates, truth.y)
    shares = (found.singletons, found.full, found.without_true or 0.0)
    numbers = (f"{found.mean:.3f}", str(found.min), str(found.max))
    return name, *numbers, *(f"{100 * share:.2f} %" for share in shares)


def dataset_table(folder: Path) -> str:
    """A line for each data set of the catalogue, with the numbers on its page in `folder`."""
    rows, counts = [], ("rows", "features", "classes")
    for name, info in DATASETS.items():
        text = (folder / f"{name}.md").read_text("utf-8")
        numbers = [_number(text, words) for words in counts]
        numbers[2] = numbers[2] or str(info.num_classes or "")
        sets = "real" if info.real_candidates else "generated"
        rows.append((f"[{info.title}]({name}.md)", code(name), info.kind, *numbers, sets))
    heads = ("data set", "name", "kind", *counts, "candidate sets")
    return table(heads, rows, counts)


def _number(text: str, words: str) -> str:
    found = re.search(rf"^\| {words} \| (.+) \|$", text, re.M)
    return found[1] if found else ""


def marked(page: str, mark: str, text: str | None = None) -> str:
    """A page with `text` between its marks `<!-- NAME -->` and `<!-- /NAME -->`.

    Without `text`, what stands there.
    """
    start, end = f"<!-- {mark} -->\n\n", f"\n\n<!-- /{mark} -->"
    before, _, rest = page.partition(start)
    found, _, after = rest.partition(end)
    return found if text is None else f"{before}{start}{text}{end}{after}"


def _renew(path: Path, mark: str, text: str) -> None:
    path.write_text(marked(path.read_text("utf-8"), mark, text), "utf-8")


def at_hand(info: DatasetInfo, data_dir: Path) -> bool:
    """Whether a data set, with the images that it has, is there without a download."""
    if info.images and not at_hand(DATASETS[info.images], data_dir):
        return False
    return info.file is None or (data_dir / info.file).exists()


def main() -> None:
    """Renew the pages."""
    data_dir = Path(os.environ["PLLBENCH_DATA"])
    for name, info in DATASETS.items():
        path = DOCS / "datasets" / f"{name}.md"
        _renew(path, "facts", facts(info))
        if at_hand(info, data_dir):
            _renew(path, "audit", audit(info, data_dir))
            sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
