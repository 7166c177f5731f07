"""Published numbers of other papers: their files, against what was read, and what they match."""

import pytest

from pllbench.data.catalogue import DATASETS
from pllbench.reports.published import (
    Published,
    load_source,
    load_table,
    published_sources,
    table_names,
)
from pllbench.reports.table import Column

SIZES = {
    ("coreg", "noisy_cifar100"): 10 * 9,
    ("pico", "pico_uniform"): 2 + 6 * 6,
    ("solar", "solar_lt"): 8 * 12 + 6,
    ("valen", "valen_real"): 9 * 3,
    ("wsc", "wsc_clean"): 8 * 8,
    ("wsc", "wsc_noisy"): 6 * 9 + 6,
}
"""Numbers of each table."""

FREE = "uniform:policy=free"

SAMPLE = [
    ("coreg", "noisy_cifar100", "alim-scale", "cifar100", "noisy_swap:eta=0.2", 0.03, 1, 76.63),
    ("coreg", "noisy_cifar100", "pico_plus", "cifar100", "noisy_swap:eta=0.3", 0.05, 1, 67.56),
    ("coreg", "noisy_cifar100", "cc", "cifar100", "noisy_swap:eta=0.1", 0.01, 1, 53.63),
    ("pico", "pico_uniform", "supervised", "cifar100", None, None, 1, 73.56),
    ("pico", "pico_uniform", "pico", "cifar10", FREE, 0.5, 1, 93.58),
    ("pico", "pico_uniform", "mcl_exp", "cifar100", FREE, 0.1, 1, 29.27),
    ("solar", "solar_lt", "solar", "cifar10", FREE, 0.5, 200, 62.12),
    ("solar", "solar_lt", "lws", "cifar100", FREE, 0.05, 50, 19.22),
    ("solar", "solar_lt", "valen", "cifar10", FREE, 0.3, 100, 50.20),
    ("valen", "valen_real", "valen", "birdsong", "real", None, 1, 72.06),
    ("valen", "valen_real", "ipal", "msrcv2", "real", None, 1, 52.96),
    ("valen", "valen_real", "gradient_ascent", "lost", "real", None, 1, 50.21),
    ("wsc", "wsc_clean", "wsc", "cifar100", FREE, 0.3, 1, 69.15),
    ("wsc", "wsc_clean", "gfws", "cifar10", FREE, 0.8, 1, 93.58),
    ("wsc", "wsc_noisy", "pico_plus", "cifar10", "noisy_flip:eta=0.2", 0.5, 1, 92.59),
    ("wsc", "wsc_noisy", "alim-scale", "cifar100-h", "hierarchical:eta=0.2", 0.5, 1, 69.75),
    ("wsc", "wsc_noisy", "irnet", "cifar100", "noisy_flip:eta=0.1", 0.05, 1, 70.73),
]
"""Read off the papers' tables a second time."""


def numbers(source: str, table: str) -> list[Published]:
    return load_source(source)[table]


def test_every_table_has_all_its_numbers() -> None:
    found = {(s, name): len(t) for s in published_sources() for name, t in load_source(s).items()}
    assert found == SIZES


@pytest.mark.parametrize("sample", SAMPLE)
def test_numbers_are_those_of_the_papers(
    sample: tuple[str, str, str, str, str | None, float | None, float, float],
) -> None:
    source, table, method, dataset, candidates, q, imbalance, mean = sample
    key = (method, dataset, candidates, q, imbalance)
    found = [e for e in numbers(source, table) if e.matches(*key) and e.metric == "accuracy"]
    assert [entry.mean for entry in found] == [mean]


@pytest.mark.parametrize(("source", "table"), SIZES)
def test_keys_are_unique_and_data_sets_known(source: str, table: str) -> None:
    entries = numbers(source, table)
    keys = {(e.method, e.dataset, e.candidates, e.q, e.imbalance, e.metric) for e in entries}
    assert len(keys) == len(entries)
    for entry in entries:
        assert entry.dataset in DATASETS
        assert (entry.candidates is None) == (entry.method == "supervised")


def test_groups_of_classes_make_up_the_accuracy() -> None:
    """(3 * 96.50 + 4 * 76.01 + 3 * 49.34) / 10 = 74.16 at 10 classes; 33, 34, 33 of 100."""
    for dataset, sizes, q, imbalance in (
        ("cifar10", (3, 4, 3), 0.5, 100),
        ("cifar100", (33, 34, 33), 0.1, 20),
    ):
        key = ("solar", dataset, FREE, q, imbalance)
        found = {e.metric: e.mean for e in numbers("solar", "solar_lt") if e.matches(*key)}
        groups = (found["many"], found["medium"], found["few"])
        mean = sum(n * value for n, value in zip(sizes, groups, strict=True)) / sum(sizes)
        assert mean == pytest.approx(found["accuracy"], abs=0.01)


def test_a_spread_that_is_not_printed_is_none() -> None:
    entry = numbers("coreg", "noisy_cifar100")[0]
    assert (entry.std, entry.sample_std, entry.n) == (None, None, None)
    printed = numbers("wsc", "wsc_clean")[0]
    assert (printed.std, printed.sample_std, printed.n) == (0.36, 0.36, 3)


def test_numbers_match_columns_of_the_same_process_imbalance_and_metric() -> None:
    entry = next(e for e in numbers("solar", "solar_lt") if e.metric == "many")
    column = Column(entry.dataset, FREE, entry.q, entry.imbalance, "many")
    assert entry.is_of("solar", column)
    for other in (
        Column(entry.dataset, "uniform", entry.q, entry.imbalance, "many"),
        Column(entry.dataset, FREE, entry.q, 50, "many"),
        Column(entry.dataset, FREE, entry.q, entry.imbalance),
        Column(entry.dataset, FREE, 0.7, entry.imbalance, "many"),
    ):
        assert not entry.is_of("solar", other)
    assert not entry.is_of("pico", column)


def test_numbers_without_options_match_any_of_their_process() -> None:
    """Those of the AsyCo paper name a process alone."""
    entry = next(e for e in load_table("instance_dependent") if e.candidates == "instance")
    assert entry.is_of(entry.method, Column(entry.dataset, "instance:rule=max", entry.q))
    assert not entry.is_of(entry.method, Column(entry.dataset, "uniform", entry.q))


def test_the_tables_of_the_paper_are_no_other_source() -> None:
    assert not set(table_names()) & {table for _, table in SIZES}
