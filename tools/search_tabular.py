"""The rule of search_tabular.toml, applied to its records: what it decides, as Markdown."""

from collections import defaultdict

import numpy as np
import numpy.typing as npt

from pllbench.api import Results
from pllbench.data.catalogue import DATASETS
from pllbench.grid.plan import PlannedRun
from pllbench.results.curves import Curves

Unit = tuple[str, float | None, str, int]
"""What two settings are compared on: data set, q, scaling and seed."""

_NOTE = (
    "Covering rate of the last epoch on 10 % of the training rows, seeds 100 to 102; on CNAE-9 "
    "(COV - q) / (1 - q) over q = 0.3, 0.7 and both scalings. ± is the standard error of the "
    "paired differences. The rule stands in search_tabular.toml."
)


def estimate(run: PlannedRun, curves: Curves) -> float:
    """Accuracy in percent as far as candidate sets tell: the last epoch's covering rate.

    On uniform candidate sets (COV - q) / (1 - q).
    """
    covering = float(curves["covering_rate"][-1])
    q = run.spec.q
    return 100 * (covering if q is None else (covering - q) / (1 - q))


def report(results: Results) -> str:
    """For each method and kind of data, every setting's mean and lead over the default.

    Args:
        results: all runs of the benchmark, finished.
    """
    found: dict[tuple[str, str], dict[str, dict[Unit, float]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    curves = results.curves()
    for run in results.planned or ():
        spec = run.spec
        unit = (spec.dataset, spec.q, spec.views.scaling, spec.seed)
        value = estimate(run, curves[spec.run_id])
        found[spec.method, DATASETS[spec.dataset].kind][run.name][unit] = value
    lines = ["| method | data | setting | n | covering rate (%) | lead over default | |"]
    lines.append("| :-- | :-- | :-- | --: | --: | --: | :-- |")
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
            lines.append(
                f"| {method} | {kind} | {name} | {len(values)} | {mean:.2f} "
                f"| {'' if name == method else lead} "
                f"| {'chosen' if name == chosen else ''} |"
            )
    return "\n".join([*lines, "", _NOTE, ""])


def error(differences: npt.NDArray[np.float64]) -> float:
    """Standard error of the mean of paired differences."""
    return float(differences.std(ddof=1) / np.sqrt(len(differences)))
