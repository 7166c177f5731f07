"""A page: its chapters, and what they say."""

from pllbench.reports.page import Page
from tests.factories import make_records
from tests.reports.examples import texts
from tests.reports.pages import example_runs, page_of, partial_page, tuned_runs


def facts(page: Page, title: str) -> dict[str, str]:
    [chapter] = [c for c in (*page.lines, *page.datasets) if c.title == title]
    return dict(chapter.facts)


def test_every_data_set_and_every_line_is_a_chapter() -> None:
    page = page_of(example_runs())
    assert [chapter.anchor for chapter in page.datasets] == [
        *("dataset-digits", "dataset-birdsong", "dataset-lost")
    ]
    assert [chapter.title for chapter in page.lines] == [
        *("PRODEN", "RC", "CC", "PiCO", "Fully supervised")
    ]
    assert page.facts[0] == "51 runs of 5 methods and variants on 3 data sets."
    assert [chapter.sweeps for chapter in page.datasets] == [True, False, False]
    assert [chapter.columns for chapter in page.datasets] == [(0, 1, 2), (3,), (4,)]


def test_a_single_run_is_counted_as_one_and_swept_over_no_rate() -> None:
    page = page_of(make_records([90]))
    assert page.facts[0] == "1 run of 1 method on 1 data set."
    assert [chapter.sweeps for chapter in (*page.datasets, *page.lines)] == [False, False]
    assert page.wins.rows == ()


def test_a_data_set_says_what_it_is_and_its_rows_lead_to_their_lines() -> None:
    page = page_of(example_runs())
    assert facts(page, "Digits")["Kind"] == "tabular"
    assert facts(page, "Digits")["Rows"] == "80 training, 20 test"
    assert facts(page, "Lost")["Source"].startswith("https://")
    assert page.datasets[0].links == {
        (0, 0): "#method-supervised",
        (1, 0): "#method-cc",
        (2, 0): "#method-rc",
        (3, 0): "#method-proden",
    }


def test_a_line_says_where_it_wins_and_what_differs_from_the_protocol() -> None:
    runs = example_runs()
    runs += make_records([40, 41, 42], method="cc", dataset="cnae9", q=0.3, train={"lr": 0.5})
    page = page_of(runs)
    [cc] = [chapter for chapter in page.lines if chapter.title == "CC"]
    rows = [texts(row) for row in cc.tables[0].rows]
    digits = [row for row in rows if row[0] == "Digits"]
    assert digits[0][:6] == ("Digits", "uniform", "0.1", "", "89.17 ± 1.26", "3 of 3")
    assert [row[3] for row in rows if row[0] == "CNAE-9"] == ["lr=0.5"]
    tuned = page_of(make_records([40, 41], train={"lr": 0.5})).lines[0]
    assert tuned.title == "CC (lr=0.5)"
    assert texts(tuned.tables[0].rows[0])[3] == "lr=0.5"
    assert cc.links[0, 0] == "#dataset-digits"
    assert cc.links[0, 8] == "records/digits"
    assert "milestones" in {texts(row)[1] for row in cc.tables[1].rows}


def test_a_line_says_which_neighbours_it_is_not_told_apart_from() -> None:
    page = page_of(example_runs())
    test = "(Nemenyi, 5 %, 3 methods, data sets: N = 3)"
    assert facts(page, "RC")["Not told apart from"] == f"PRODEN, CC {test}"
    assert facts(page, "CC")["Not told apart from"] == f"RC {test}"
    assert facts(page, "PRODEN")["Published"] == "2020"
    assert facts(page, "CC")["Published"] == "NeurIPS, 2020"
    assert "true labels" in facts(page, "Fully supervised")["Learns from"]
    assert "Average rank" not in facts(page, "PiCO")


def test_data_sets_of_one_title_are_two_chapters() -> None:
    runs = []
    for method in ("cc", "rc"):
        runs += make_records([70, 71], method=method)
        runs += make_records([72, 73], method=method, imbalance=10)
        for run in make_records([71, 72], method=method):  # own data, called like the other's title
            spec = run.spec.model_copy(update={"dataset": "Digits", "kind": "tabular"})
            runs.append(run.model_copy(update={"spec": spec}))
    page = page_of(runs)
    titles = {chapter.anchor: chapter.title for chapter in page.datasets}
    assert titles == {
        "dataset-digits": "Digits",
        "dataset-digits-imbalance-10": "Digits, imbalance 10",
        "dataset-digits-2": "Digits",
    }
    accuracies = [[row.cells[1].text for row in c.tables[0].rows] for c in page.datasets]
    assert accuracies == [["70.50 ± 0.71"] * 2, ["72.50 ± 0.71"] * 2, ["71.50 ± 0.71"] * 2]
    assert [cell.text for cell in page.leaderboard.rows[0].cells[7:]] == [
        row[0] for row in accuracies
    ]
    [cc] = [chapter for chapter in page.lines if chapter.title == "CC"]
    assert [cc.links[i, 0] for i in range(3)] == [f"#{anchor}" for anchor in titles]
    assert [chapter.columns for chapter in page.datasets] == [(0,), (1,), (2,)]


def test_rows_of_another_budget_are_neither_ranked_nor_paired_with_default_settings() -> None:
    page = page_of(tuned_runs())
    rows = {row.cells[0].text.partition(",")[0]: row for row in page.leaderboard.rows}
    places = {label: row.cells[1].text for label, row in rows.items()}
    assert places == {
        "RC": "1.00",
        "CC": "2.00",
        "RC (tuned: 20 trials": "",
        "CC (tuned: 20 trials": "",
    }
    assert page.leaderboard.notes[-1] == (
        "Ranked here: rows with default settings; pllbench table --tests ranks every budget."
    )
    assert {row.cells[1].text for row in page.wins.rows} == {"2/0/0", "0/0/2"}
    [tuned] = [chapter for chapter in page.lines if chapter.title.startswith("RC (tuned")]
    assert [texts(row)[3:6] for row in tuned.tables[0].rows] == [
        ("tuned", "80.50 ± 0.71", "1 of 2"),
        ("tuned", "80.50 ± 0.71", "1 of 2"),
    ]


def test_what_is_missing_has_tables() -> None:
    assert page_of(example_runs()).missing == ()
    titles = [table.title for table in partial_page().missing]
    assert titles == ["Failed runs", "Missing runs"]


def test_tuned_rows_have_a_section_beside_default_ones() -> None:
    page = page_of(tuned_runs())
    assert page.tuning is not None
    assert [table.title for table in page.tuning.tables][-1] == "Average ranks over data sets"
    lines = page.figures["lines"]
    assert isinstance(lines, list)
    tuned = [line for line in lines if isinstance(line, dict) and line["untuned"] is not None]
    assert len(tuned) == 2
    for line in tuned:
        place = line["untuned"]
        assert isinstance(place, int)
        plain = lines[place]
        assert isinstance(plain, dict)
        assert str(line["label"]).startswith(f"{plain['label']} (tuned: ")
    assert page_of(example_runs()).tuning is None
