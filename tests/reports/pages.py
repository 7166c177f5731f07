"""Records that pages are made of, and their pages."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import numpy as np

from pllbench.budget import Budget, TuningSpec
from pllbench.data.catalogue import DATASETS
from pllbench.grid.plan import PlannedRun
from pllbench.registry import MethodFacts
from pllbench.reports.aggregate import build_table
from pllbench.reports.curves import CurvesById
from pllbench.reports.formats.html import to_html
from pllbench.reports.page import Page, PageSource, build_page
from pllbench.results.records import Record
from tests.factories import PROTOCOL, make_plan, make_record, make_records, make_spec
from tests.reports.examples import comparison

HOSTILE = (
    "<script>window.hacked = 1</script>",
    "</script><img src=x onerror='window.hacked = 2'>",
    "\"'`&amp; {{ 7 * 7 }} {% raw %} ${7 * 7} \\",
    "\N{RIGHT-TO-LEFT OVERRIDE}\u05e9\u05dc\u05d5\u05dd right to left",
    "long " + "label" * 59,
    "<!--<svg onload=window.hacked=3>",
)
"""Names of methods that a page must print as they stand."""

FACTS = {
    "supervised": MethodFacts("reference"),
    "cc": MethodFacts("loss", 2020, "NeurIPS"),
    "rc": MethodFacts("loss", 2020),
    "proden": MethodFacts("confidence", 2020),
}


FAILED = make_spec("cc", "digits", 0.3, 9)
FAILURES = {FAILED.run_id: ("CC · digits q=0.3 · seed 9", "OutOfMemoryError: no memory")}


def example_runs() -> list[Record]:
    """A reference and three methods on data sets with and without q; rank 1 is PRODEN."""
    runs = [*make_records([97, 98, 98.5], method="supervised")]
    for i, method in enumerate(("cc", "rc", "proden")):
        for q in (0.1, 0.3, 0.7):
            level = 90 + i - 20 * q
            values = [level, level + 1 + i * q, level + 2.5 - i * q]
            runs += make_records(values, method=method, q=q)
        runs += make_records([70 + i, 72 + i, 71], method=method, dataset="birdsong", q=None)
        runs += make_records([50 + i, 53 + i, 51], method=method, dataset="lost", q=None)
    runs += make_records([60, 61, 62], method="pico", dataset="lost", q=None)
    return [timed(run, 10.0 + place) for place, run in enumerate(runs)]


def tuned_runs() -> list[Record]:
    """Two methods on two data sets, each with default settings and with such as a search found."""
    tuning = TuningSpec(budget=Budget(trials=(20,), space="01234567"), own_space="01234567")
    runs = []
    for dataset, q in (("digits", 0.3), ("lost", None)):
        for level, method in ((70, "cc"), (71, "rc")):
            runs += make_records([level, level + 1], method=method, dataset=dataset, q=q)
            found = {"method": method, "dataset": dataset, "q": q, "tuning": tuning}
            runs += make_records([level + 9, level + 10], **found)
    return runs


def hostile_page() -> Page:
    """Methods, data sets, settings, machines, failures and a benchmark with hostile names."""
    runs = []
    for i, name in enumerate(HOSTILE):
        for dataset in ("digits", "lost", HOSTILE[(i + 1) % 2]):
            found = make_records([80 + i, 81 + 2 * i], method=name, hparams={name: name})
            changed = {"dataset": dataset, "kind": None if dataset in DATASETS else "tabular"}
            where = {"host": name, "versions": {name: name}, "commit": name, "device": name}
            runs += [
                run.model_copy(
                    update={
                        "spec": run.spec.model_copy(update=changed),
                        "provenance": run.provenance.model_copy(update=where),
                    }
                )
                for run in found
            ]
    table = build_table(runs, PROTOCOL)
    source = PageSource(
        table=replace(table, title=HOSTILE[0], notes=(*table.notes, *HOSTILE)),
        records=runs,
        facts={name: MethodFacts(name, 2020, name) for name in HOSTILE},
        addresses={run.run_id: quote(f"records/{run.spec.dataset}") for run in runs},
        curves=curves_of(runs),
        failures={str(i): (name, name) for i, name in enumerate(HOSTILE)},
        uncounted=HOSTILE,
    )
    return build_page(source)


def many_runs(methods: int = 40, datasets: Sequence[str] = ()) -> list[Record]:
    """5 seeds of many methods on ten data sets at q = 0.3; accuracies are random."""
    generator = np.random.default_rng(0)
    names = datasets or ("digits", "cnae9", "cifar10", "cifar100", "svhn", "mnist")
    names = datasets or (*names, "fashion-mnist", "kmnist", "cifar10-5k", "mnist-5k")
    return [
        make_record(
            make_spec(f"method-{i:02d}", dataset, 0.3, seed, hparams={"rho": 0.5, "warmup": 10}),
            100 * generator.random(),
        )
        for i in range(methods)
        for dataset in names
        for seed in range(5)
    ]


def timed(run: Record, seconds: float) -> Record:
    """The same run, which took so long."""
    return run.model_copy(
        update={"provenance": run.provenance.model_copy(update={"seconds": seconds})}
    )


def curves_of(runs: Sequence[Record]) -> CurvesById:
    """Accuracy that rises to that of a run, and noise rates that fall."""
    found = {}
    for run in runs:
        epochs = np.arange(run.spec.train.epochs)
        rise = 1 - np.exp(-epochs / 20)
        ripple = 0.01 * np.sin(epochs + run.spec.seed)
        level = run.result.accuracy["last"]
        found[run.run_id] = {"accuracy": np.clip(level * rise + ripple, 0, 1)}
        if run.spec.labels == "candidates":
            found[run.run_id]["class_noise"] = np.clip(0.4 - 0.3 * rise + ripple, 0, 1)
            found[run.run_id]["pairwise_noise"] = np.clip(0.2 - 0.1 * rise + ripple, 0, 1)
    return found


def page_of(
    runs: Sequence[Record], *, curves: bool = True, planned: Sequence[PlannedRun] | None = None
) -> Page:
    """The page about some runs."""
    source = PageSource(
        table=build_table(runs, PROTOCOL, planned=planned),
        records=runs,
        facts=FACTS,
        addresses={run.run_id: f"records/{run.spec.dataset}" for run in runs},
        curves=curves_of(runs) if curves else None,
        compared=comparison(),
        planned=planned,
        failures=FAILURES if planned else {},
    )
    return build_page(source)


def partial_page() -> Page:
    """A page of a selection of which runs are missing, one of them since it failed."""
    runs = example_runs()
    specs = [run.spec for run in runs]
    wanted = make_plan([*specs, FAILED, make_spec("rc", seed=8)])
    return page_of(runs, planned=wanted)


def write_page(page: Page, folder: Path) -> Path:
    """The page as a file."""
    path = folder / "report.html"
    path.write_text(to_html(page), "utf-8")
    return path
