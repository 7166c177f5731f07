"""What a page costs: its size, the time to make it, and the time until a browser shows it.

    python tools/page.py [--json]

Over folders of fabricated records, 40 methods on 10 data sets, with random accuracies and curves:
2,000 runs (5 seeds) with curves and 10,000 (5 noise rates) without. `cpu_s` is the processor time
of `pllbench report` as a whole process, start of Python and imports included, the least of three;
`kb` is the size of the page. `paint_ms` is the time from opening the file to the first contentful
paint in headless Chromium, the median of five; absent where there is no Chromium.
"""

import argparse
import io
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pllbench.candidates.audit import Audit
from pllbench.data.catalogue import DATASETS
from pllbench.results import records
from pllbench.results.records import Provenance, Record, Result
from pllbench.spec import CandidateSpec, RunSpec, TrainSpec

METHODS = [f"method-{i:02d}" for i in range(40)]
DATA = [*DATASETS][:10]
SEEDS = range(5)
EPOCHS = 200
RATES = (0.1, 0.3, 0.5, 0.7, 0.9)


def specs(rates: tuple[float, ...]) -> Iterator[RunSpec]:
    """Runs of all methods, data sets and seeds."""
    for method in METHODS:
        for dataset in DATA:
            for q in rates:
                candidates = CandidateSpec(process="uniform", q=q)
                for seed in SEEDS:
                    yield RunSpec(
                        method=method,
                        version=1,
                        hparams={"rho": 0.5, "warmup": 10},
                        dataset=dataset,
                        candidates=candidates,
                        seed=seed,
                        train=TrainSpec(epochs=EPOCHS),
                    )


def fabricate(folder: Path, rates: tuple[float, ...], *, curves: bool) -> int:
    """A results folder of such runs; gives their number."""
    generator = np.random.default_rng(0)
    flat = {"accuracy": np.ones(EPOCHS)}
    number = 0
    for spec in specs(rates):
        level = 0.5 + 0.4 * generator.random()
        noise = 0.02 * generator.standard_normal((3, EPOCHS))
        rise = level * (1 - np.exp(-np.arange(EPOCHS) / 20))
        walk = dict(
            zip(
                ("accuracy", "class_noise", "pairwise_noise"),
                np.clip(np.stack((rise, 1 - rise, (1 - rise) / 2)) + noise, 0, 1),
                strict=True,
            )
        )
        write(folder, spec, level, walk if curves else flat)
        number += 1
    return number


def write(folder: Path, spec: RunSpec, level: float, curves: dict[str, np.ndarray]) -> None:
    """A record without training, and without waiting for the disk."""
    audit = Audit(
        num_rows=1437,
        num_classes=10,
        mean=3.7,
        min=2,
        max=9,
        singletons=0.0,
        full=0.0,
        without_true=0.0,
        digest=f"{spec.seed:016x}",
    )
    record = Record(
        schema=1,
        spec=spec,
        result=Result(
            accuracy=dict.fromkeys(("last10", "last", "oracle"), level),
            epoch={"oracle": 0},
            num_train=1437,
            num_test=360,
            num_holdout=0,
        ),
        provenance=Provenance(commit="0" * 40, seconds=10 * level, audit=audit),
    )
    path = records.record_path(folder, spec)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(record.model_dump_json(indent=1, by_alias=True) + "\n")
    columns = io.BytesIO()
    np.savez_compressed(columns, **curves)  # type: ignore[arg-type]
    path.with_suffix(".npz").write_bytes(columns.getvalue())


def measure(folder: Path, *options: str) -> dict[str, float]:
    """Size of the page about a folder and the time to make it, and to show it."""
    page = folder / "report.html"
    command = [sys.executable, "-m", "pllbench", "report", "--results", str(folder), *options]
    spent = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*command, "--output", str(page)], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    found = {"cpu_s": round(min(spent), 2), "kb": round(page.stat().st_size / 1000)}
    if shutil.which("chromium"):
        found["paint_ms"] = statistics.median(paint(page) for _ in range(5))
    return found


def paint(page: Path) -> float:
    """Milliseconds from opening a page to its first contentful paint, in headless Chromium."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.get(page.resolve().as_uri())
        wait = "const done = arguments[0]; requestAnimationFrame(() => setTimeout(done, 200));"
        driver.execute_async_script(wait)
        script = "return performance.getEntriesByName('first-contentful-paint')[0].startTime"
        return round(float(driver.execute_script(script)))
    finally:
        driver.quit()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one line")
    as_json = parser.parse_args().json
    found = {}
    for rates, curves in (((0.3,), True), (RATES, False)):
        with tempfile.TemporaryDirectory() as folder:
            number = fabricate(Path(folder), rates, curves=curves)
            options = () if curves else ("--no-curves",)
            found[f"{number} runs"] = measure(Path(folder), *options)
    if as_json:
        print(json.dumps(found))
        return
    for name, values in found.items():
        print(name, *(f"{key} = {value}" for key, value in values.items()), sep="  ")


if __name__ == "__main__":
    main()
