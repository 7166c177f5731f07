"""How well the hold-out's criteria choose: over the trials of a benchmark's study, as Markdown.

    python tools/criteria.py tuned_tabular > results/tables/criteria.md

Reads the test accuracies of the trials, which the study itself never does.
"""

import argparse
import sys
from pathlib import Path

from pllbench.grid.benchmark import load_benchmark
from pllbench.grid.plan import Selection
from pllbench.reports.formats.render import to_text
from pllbench.reports.report import Report
from pllbench.tuning.criteria import criterion_entries, report_criteria
from pllbench.tuning.study import load_study
from pllbench.tuning.tune import TuningPlan


def criteria(benchmark: str, results: Path) -> Report:
    """The report on the study of a benchmark.

    Args:
        benchmark: its name, or a TOML file.
        results: folder with the study.

    Raises:
        ValueError: there is no such benchmark, or none of its trials.
    """
    found = load_benchmark(benchmark)
    study = load_study(results, Path(benchmark).stem)
    cells = TuningPlan(Selection(benchmark=found), found.tuning).cells(study.file)
    return report_criteria([entry for cell in cells for entry in criterion_entries(study, cell)])


def main() -> None:
    """Print the report, or one line on why there is none (exit code 2)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmark", help="its name, or a TOML file")
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--format", default="markdown", help="or json")
    arguments = parser.parse_args()
    try:
        report = criteria(arguments.benchmark, arguments.results)
    except ValueError as error:
        sys.stderr.write(f"criteria.py: {error}\n")
        sys.exit(2)
    sys.stdout.write(to_text(report, arguments.format))


if __name__ == "__main__":
    main()
