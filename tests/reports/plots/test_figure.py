"""What figures share: styles, legends, files."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from pllbench.reports.aggregate import build_table
from pllbench.reports.plots.accuracy import plot_accuracy
from pllbench.reports.plots.figure import save
from tests.factories import PROTOCOL, make_records
from tests.reports.plots.drawings import example_records, legend


def test_a_method_looks_the_same_on_all_data_sets() -> None:
    """Also where its label adds a setting on one of them."""
    runs = [
        record
        for dataset, train in (("digits", {"lr": 0.05}), ("cnae9", {}))
        for method in ("cc", "rc")
        for record in make_records([90, 91], method=method, dataset=dataset, train=train)
    ]
    figure = plot_accuracy(build_table(runs, PROTOCOL))
    styles = {
        text: (line.get_color(), line.get_marker(), line.get_linestyle())
        for text, line in zip(legend(figure), figure.legends[0].get_lines(), strict=True)
    }
    assert set(styles) == {"CC", "RC", "CC (lr=0.05)", "RC (lr=0.05)"}
    assert styles["CC"] == styles["CC (lr=0.05)"] != styles["RC"] == styles["RC (lr=0.05)"]


@pytest.mark.parametrize("num_panels", [1, 2, 3])
@pytest.mark.parametrize("setting", [{}, {"lr": 0.05}])
def test_a_legend_fits_below_the_panels(num_panels: int, setting: dict[str, float]) -> None:
    runs = [
        record
        for dataset in ("digits", "cnae9", "svhn")[:num_panels]
        for method in ("supervised", "cc", "rc", "proden", "pico", "dpll", "ncpd", "asyco")
        for record in make_records([90], method=method, dataset=dataset, train=setting)
    ]
    figure = plot_accuracy(build_table(runs, PROTOCOL))
    figure.draw_without_rendering()
    [box] = figure.legends
    assert len(box.get_texts()) == 8
    inside = box.get_window_extent()
    assert 0 <= inside.x0 < inside.x1 <= figure.bbox.x1
    assert inside.y0 >= 0
    columns = {round(text.get_window_extent().x0) for text in box.get_texts()}
    assert len(columns) >= (1 if setting else 2)


def test_rows_differ_without_colour() -> None:
    many = [r for lr in range(1, 11) for r in make_records([90, 91], train={"lr": lr / 100})]
    figure = plot_accuracy(build_table(many, PROTOCOL))
    lines = figure.legends[0].get_lines()
    assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == 10


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg", "PNG"])
def test_equal_figures_are_equal_files(tmp_path: Path, suffix: str) -> None:
    paths = [tmp_path / f"{i}.{suffix}" for i in range(2)]
    for path in paths:
        save(plot_accuracy(build_table(example_records(), PROTOCOL)), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("name", ["plot.jpg", "plot"])
def test_another_suffix_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"use \.pdf \.png \.svg") as caught:
        save(plot_accuracy(build_table(example_records(), PROTOCOL)), tmp_path / name)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="cannot be written"):
        save(Figure(), tmp_path / "file" / "figure.png")


def test_a_label_is_neither_mathematics_nor_hidden(tmp_path: Path) -> None:
    runs = make_records([90], method="_a$b$", q=0.1) + make_records([90], method="x_{", q=0.1)
    figure = plot_accuracy(build_table(runs, PROTOCOL))
    save(figure, tmp_path / "plot.png")
    assert legend(figure) == ["_a$b$", "x_{"]


def test_missing_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "figure.png"
    save(Figure(), path)
    assert path.stat().st_size > 0


def widths(figure: Figure) -> list[float]:
    """Width of each panel without its labels, in inches."""
    figure.draw_without_rendering()
    return [axes.get_window_extent().width / figure.dpi for axes in figure.axes]


def test_long_labels_beside_dots_take_no_room_from_the_panels() -> None:
    runs = [
        record
        for method in ("cc", "rc")
        for dataset, q in (("digits", 0.3), ("birdsong", None))
        for lr in (0.01, 0.02)
        for record in make_records(
            [90], method=method, dataset=dataset, q=q, train={"lr": lr, "epochs": 20}
        )
    ]
    assert min(widths(plot_accuracy(build_table(runs, PROTOCOL)))) > 2


def test_settings_that_all_rows_share_stand_in_no_label() -> None:
    runs = [
        record
        for method in ("cc", "rc")
        for record in make_records([90], method=method, train={"epochs": 20})
    ]
    assert legend(plot_accuracy(build_table(runs, PROTOCOL))) == ["CC", "RC"]


def test_a_figure_says_what_its_bars_are_and_how_many_runs_there_are() -> None:
    figure = plot_accuracy(build_table(make_records([90, 91]), PROTOCOL))
    assert "sample std (ddof = 1) over n = 2 seeds" in figure.legends[0].get_title().get_text()
