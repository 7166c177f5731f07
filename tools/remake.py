"""Make every committed page, table and plot of numbers from the records.

    python -m tools.remake

What is as the records say is left alone, a plot as long as its rows, numbers and runs are the same:
delete its file to draw it in another style. A selection of which nothing has run has no file.
`tests/test_remake.py` fails where this would change something.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

from pllbench import api
from pllbench.grid.benchmark import load_benchmark
from pllbench.grid.plan import Selection
from pllbench.registry import method_facts
from pllbench.reports.aggregate import build_table
from pllbench.reports.formats.render import to_text
from pllbench.reports.formats.view import ReportView
from pllbench.reports.leaderboard import build_leaderboard, leaderboard_table
from pllbench.reports.plots import accuracy, epochs
from pllbench.reports.plots.figure import save
from pllbench.reports.report import Report, report_table, table_entries
from pllbench.reports.results import Results
from pllbench.reports.table import Table
from tools import choices, criteria

ROOT = Path(__file__).parents[1]

plain = methodcaller("table")


def ranked(results: Results) -> ReportView:
    """Average ranks with their critical difference, seconds, and the accuracies of a benchmark."""
    table = results.accuracies()
    facts = method_facts({record.spec.method for record in results.finished})
    board = build_leaderboard(table, results.finished, facts)
    notes = (*table.title_note, *table.notes)
    return ReportView(Report("", (leaderboard_table(board),), notes, table_entries(table)))


TABLES: Mapping[str, Callable[[Results], ReportView]] = {
    "tabular": plain,
    "tabular_ablations": methodcaller("tests", "asyco"),
    "tabular_variants": plain,
    "tabular_all": ranked,
    "tuned_tabular_chosen": methodcaller("worth_of_tuning"),
    "noisy_tabular": plain,
    "long_tailed_digits": methodcaller("table", metrics=("balanced", "many", "medium", "few")),
    "small_images": plain,
    "reduced_processes": plain,
}
"""Benchmarks with a page in results/tables, and what it shows."""

EMBEDDED = {"docs/quickstart.md": ("digits", "digits"), "docs/results.md": ("birdsong", "birdsong")}
"""Pages with a table between marks: the mark, and the benchmark."""


CONCLUSIONS = """\
## What equal treatment changes

With the mean over views for every method whose equations have it, AsyCo is level with CC, RC,
PRODEN, NCPD and DPLL on CNAE-9 up to q = 0.5 and behind them at 0.7, where the paper has it ahead
of all. On BirdSong it leads, as in the paper, but only its lead over NCPD holds after Holm's
correction. On 5,000 images of CIFAR-10 with a small network, at one seed, it is behind CC and DPLL.
The numbers, with intervals: [what we measured](../docs/results.md#asyco-under-equal-treatment).
"""
"""Below the published numbers; in words, since the tables have the numbers."""

STUDY = "tuned_tabular"
"""The benchmark whose search is committed."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A committed plot.

    Attributes:
        selection: what it shows.
        draw: how.
    """

    selection: Selection
    draw: Callable[[Results], Figure]


def plain_table(results: Results) -> Table:
    """The table of a benchmark without its title and note, for pages that say them themselves."""
    return build_table(results.records, results.protocol, planned=results.planned)


def draw_accuracy(results: Results) -> Figure:
    """Accuracy against q, or by method."""
    return accuracy.plot_accuracy(plain_table(results))


def draw_noise(results: Results) -> Figure:
    """Noise rates of the pseudo labels over epochs."""
    return epochs.plot_noise_rates(plain_table(results), results.columns())


def draw_tuning(results: Results) -> Figure:
    """What tuning is worth, by method."""
    return results.plot("tuning")


def draw_ranks(results: Results) -> Figure:
    """Average ranks with their critical difference."""
    return results.plot("ranks")


PLOTS = {
    "digits": Plot(Selection(load_benchmark("digits")), draw_accuracy),
    "birdsong": Plot(Selection(load_benchmark("birdsong")), draw_accuracy),
    "birdsong_noise": Plot(Selection(load_benchmark("birdsong")), draw_noise),
    "tabular_all_ranks": Plot(Selection(load_benchmark("tabular_all")), draw_ranks),
    "tuning": Plot(Selection(load_benchmark("tuned_tabular_chosen")), draw_tuning),
    "cifar10-5k_noise": Plot(
        Selection(
            load_benchmark("small_images"),
            methods=("asyco", "dpll"),
            datasets=("cifar10-5k",),
            q=(0.7,),
        ),
        draw_noise,
    ),
}
"""Plots in results/plots, by name."""


def pages(records: Results) -> Iterator[tuple[str, str]]:
    """Path below the repository and text of every page that shows records."""
    yield "results/REPRODUCTION.md", f"{records.compare('all').to_markdown()}\n{CONCLUSIONS}"
    for name, shown in TABLES.items():
        part = records.select(Selection(load_benchmark(name)))
        if part.finished:
            yield f"results/tables/{name}.md", shown(part).to_markdown()
    if (ROOT / "results" / "tuning" / STUDY).is_dir():
        found = criteria.criteria(STUDY, ROOT / "results")
        yield "results/tables/criteria.md", to_text(found, "markdown")
    if (ROOT / "results" / "choices").is_dir():
        yield "results/choices.md", choices.page(api.load(ROOT / "results" / "choices"))
    for path, (mark, name) in EMBEDDED.items():
        table = report_table(plain_table(records.select(Selection(load_benchmark(name)))))
        before, begin, rest = (ROOT / path).read_text("utf-8").partition(f"<!-- {mark} -->\n")
        _, end, after = rest.partition(f"<!-- /{mark} -->")
        yield path, "".join((before, begin, to_text(table, "markdown"), end, after))


def plots(records: Results) -> Iterator[tuple[str, str, Callable[[], Figure]]]:
    """Path, digest of what it shows, and drawing of every plot of which something has run."""
    for name, plot in PLOTS.items():
        part = records.select(plot.selection)
        if part.finished:
            shown = to_text(report_table(plain_table(part)), "json")
            digest = hashlib.sha256(shown.encode()).hexdigest()[:16]
            yield f"results/plots/{name}.png", digest, partial(plot.draw, part)


def digest_of(path: Path) -> str | None:
    """The digest that is stored in a plot; None where there is none, or no plot."""
    if not path.exists():
        return None
    with Image.open(path) as image:
        return str(image.info.get("Description"))


def main() -> None:
    """Write what differs, and name it."""
    records = api.load(ROOT / "results")
    for path, text in pages(records):
        file = ROOT / path
        if not file.exists() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")
            print(path)
    for path, digest, draw in plots(records):
        if digest_of(ROOT / path) != digest:
            save(draw(), ROOT / path, digest)
            print(path)
    page = ROOT / "results" / "report.html"
    before = page.read_bytes() if page.exists() else b""
    records.report(page)
    if page.read_bytes() != before:
        print("results/report.html")


if __name__ == "__main__":
    main()
