"""Apply the rule of search_tabular.toml to its records and print what it decides, as Markdown.

python tools/search_tabular.py results/search > results/tables/search_tabular.md
"""

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pllbench.data.catalogue import DATASETS
from pllbench.grid.benchmark import load_benchmark
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.results import records
from pllbench.results.curves import read_curves

Unit = tuple[str, float | None, str, int]
"""What two settings are compared on: data set, q, scaling and seed."""


def estimate(run: PlannedRun, results: Path) -> float:
    """Accuracy in percent as far as candidate sets tell: the last epoch's covering rate.

    On uniform candidate sets (COV - q) / (1 - q).
    """
    curves = read_curves(records.record_path(results, run.spec))
    covering = float(curves["covering_rate"][-1])
    q = run.spec.q
    return 100 * (covering if q is None else (covering - q) / (1 - q))


def main(results: Path) -> None:
    """Print, for each method and kind of data, every setting's mean and lead over the default."""
    found: dict[tuple[str, str], dict[str, dict[Unit, float]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for run in plan(Selection(load_benchmark("search_tabular"))):
        spec = run.spec
        unit = (spec.dataset, spec.q, spec.views.scaling, spec.seed)
        found[spec.method, DATASETS[spec.dataset].kind][run.name][unit] = estimate(run, results)
    print("| method | data | setting | n | covering rate (%) | lead over default | |")
    print("| :-- | :-- | :-- | --: | --: | --: | :-- |")
    for (method, kind), settings in sorted(found.items()):
        default = settings[method]
        leads: dict[str, npt.NDArray[np.float64]] = {
            name: np.array([values[unit] - default[unit] for unit in default])
            for name, values in settings.items()
        }
        clear = {name: lead.mean() for name, lead in leads.items() if lead.mean() > error(lead)}
        chosen = max(clear, key=lambda name: clear[name]) if clear else method
        for name, values in settings.items():
            mean = np.mean(list(values.values()))
            lead = f"{leads[name].mean():+.2f} ± {error(leads[name]):.2f}"
            print(
                f"| {method} | {kind} | {name} | {len(values)} | {mean:.2f} "
                f"| {'' if name == method else lead} "
                f"| {'chosen' if name == chosen else ''} |"
            )
    print()
    print(
        "Covering rate of the last epoch on 10 % of the training rows, seeds 100 to 102; on CNAE-9 "
        "(COV - q) / (1 - q) over q = 0.3, 0.7 and both scalings. ± is the standard error of the "
        "paired differences. The rule stands in search_tabular.toml."
    )


def error(differences: npt.NDArray[np.float64]) -> float:
    """Standard error of the mean of paired differences."""
    return float(differences.std(ddof=1) / np.sqrt(len(differences)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
