"""What is shown while a grid runs, on a terminal and elsewhere."""

import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import ModuleType

import pytest
from rich.console import Console

from pllbench.grid.plan import PlannedRun
from pllbench.runner import display
from pllbench.runner.display import Display, NotebookDisplay, Quiet, choose_observer, duration
from pllbench.training.trainer import Progress
from tests.factories import make_plan, make_spec

RUNS = make_plan([make_spec(seed=seed, train={"epochs": 100}) for seed in range(4)])


class Clock:
    """Stands in for the time module."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(display, "time", clock)
    return clock


def plain() -> Console:
    return Console(file=io.StringIO(), width=80)


def begun(console: Console, runs: Sequence[PlannedRun]) -> Display:
    """A display that has been told of the runs."""
    shown = Display(console)
    shown.begun(runs)
    return shown


def text_of(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def live_text(shown: Display, width: int = 100) -> str:
    """The live view at this moment."""
    console = Console(file=io.StringIO(), width=width)
    console.print(shown._render())
    return text_of(console)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0:00:00"),
        (0.6, "0:00:01"),
        (59.7, "0:01:00"),
        (3599.9, "1:00:00"),
        (360000, "100:00:00"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_plain_lines(clock: Clock) -> None:
    console = plain()
    shown = begun(console, RUNS)
    for run in RUNS[:3]:
        shown.started(run)
    shown.progressed(RUNS[0], Progress(0, 0.5))
    shown.finished(RUNS[0], 0.98765, 61)
    shown.failed(RUNS[1], "ValueError: [bold]no markup[/bold], and a line that is very long " * 2)
    shown.stopped(RUNS[2])
    shown.waiting(1)
    shown.waiting(1)
    shown.passed_over(RUNS[3])
    shown.ended()
    lines = text_of(console).splitlines()
    assert [line.rstrip() for line in lines] == [
        "[1/4] CC · digits q=0.3 · seed 0: 98.77 % in 0:01:01",
        "[2/4] CC · digits q=0.3 · seed 1: FAILED: "
        + ("ValueError: [bold]no markup[/bold], and a line that is very long " * 2).rstrip(),
        "CC · digits q=0.3 · seed 2: stopped, the next run of this command goes on",
        "waiting for 1 run of another process",
        "[3/4] CC · digits q=0.3 · seed 3: done by another process",
    ]


def test_a_log_grows_by_a_line_a_minute_while_a_long_run_goes_on(clock: Clock) -> None:
    console = plain()
    shown = begun(console, RUNS)
    shown.started(RUNS[0])
    for epoch in range(100):
        clock.now += 5
        shown.progressed(RUNS[0], Progress(epoch, 0.5))
    assert text_of(console).splitlines() == [
        f"[0/4] CC · digits q=0.3 · seed 0: epoch {epoch} of 100"
        for epoch in (13, 26, 39, 52, 65, 78, 91)
    ]


def test_the_live_view_shows_running_cells_and_progress(clock: Clock) -> None:
    shown = begun(plain(), RUNS)
    for run in RUNS[:2]:
        shown.started(run)
    shown.progressed(RUNS[0], Progress(0, 0.5))
    clock.now += 65
    shown.progressed(RUNS[0], Progress(9, 0.625))
    first, second, bar = live_text(shown).splitlines()
    assert " ".join(first.split()) == "CC · digits q=0.3 · seed 0 10/100 62.50 % 0:01:05"
    assert " ".join(second.split()) == "CC · digits q=0.3 · seed 1 - - 0:01:05"
    assert bar.startswith("0/4 runs ")


def test_the_live_view_says_what_is_wrong_or_waited_for(clock: Clock) -> None:
    shown = begun(plain(), RUNS)
    shown.started(RUNS[0])
    shown.failed(RUNS[0], "no luck")
    shown.waiting(3)
    shown.stopping()
    assert [line.strip() for line in live_text(shown).splitlines()[-3:]] == [
        "1 failed",
        "waiting for 3 runs of another process",
        "stopping at the end of the epoch; Ctrl-C again stops at once",
    ]
    shown.started(RUNS[1])
    assert "waiting" not in live_text(shown)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_line_of_the_live_view_is_wrapped_or_loses_its_numbers(clock: Clock, width: int) -> None:
    [run] = make_plan([make_spec(dataset="soccer-player", q=None, train={"epochs": 1000})])
    long = replace(run, label="AsyCo without refinement (lr=0.05, epochs=1000)")
    shown = begun(Console(file=io.StringIO(), width=width), [long])
    shown.started(long)
    shown.progressed(long, Progress(998, 1.0))
    first, bar = live_text(shown, width).splitlines()
    assert first.split()[-4:] == ["999/1000", "100.00", "%", "0:00:00"]
    assert "0/1 runs" in bar


def estimate(shown: Display) -> str:
    return shown._time_left(list(shown._running.values()))


def test_the_estimate_rests_on_epochs(clock: Clock) -> None:
    shown = begun(plain(), RUNS)
    shown.started(RUNS[0])
    clock.now += 500  # reading the data says nothing of the epochs
    shown.progressed(RUNS[0], Progress(0, 0.1))
    assert estimate(shown) == ""
    clock.now += 10
    shown.progressed(RUNS[0], Progress(49, 0.1))
    assert estimate(shown) == "about 0:01:10 left"  # 350 of 400 epochs, 50 in 10 s
    clock.now += 10
    shown.finished(RUNS[0], 0.5, 520)
    assert estimate(shown) == "about 0:01:00 left"
    for run in RUNS[1:]:
        shown.passed_over(run)
    assert estimate(shown) == ""


def test_epochs_before_a_checkpoint_are_no_work_of_now(clock: Clock) -> None:
    shown = begun(plain(), RUNS[:1])
    shown.started(RUNS[0])
    shown.progressed(RUNS[0], Progress(79, 0.1))  # it went on at epoch 79
    clock.now += 10
    shown.progressed(RUNS[0], Progress(89, 0.1))
    assert estimate(shown) == "about 0:00:09 left"


def test_on_a_terminal_only_failures_leave_a_line(clock: Clock) -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    shown = begun(console, RUNS)
    for run in RUNS[:2]:
        shown.started(run)
    shown.finished(RUNS[0], 0.5, 1)
    shown.failed(RUNS[1], "no luck")
    shown.ended()
    assert "FAILED: no luck" in text_of(console)
    assert "50.00 %" not in text_of(console)


class Page:
    """Stands in for the output area of a notebook."""

    def __init__(self) -> None:
        self.states: list[Mapping[str, str]] = []

    def display(self, bundle: Mapping[str, str], *, raw: bool, display_id: bool) -> "Page":
        assert raw
        assert display_id
        self.states.append(bundle)
        return self

    def update(self, bundle: Mapping[str, str], *, raw: bool) -> None:
        assert raw
        self.states.append(bundle)


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Page:
    page = Page()
    module = ModuleType("IPython.display")
    vars(module)["display"] = page.display
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return page


def test_a_notebook_has_one_output_that_changes(clock: Clock, page: Page) -> None:
    shown = NotebookDisplay()
    shown.begun(RUNS)
    for run in RUNS[:2]:
        clock.now += 1
        shown.started(run)
    clock.now += 1
    shown.progressed(RUNS[0], Progress(9, 0.625))
    text = page.states[-1]["text/plain"].splitlines()
    assert " ".join(text[0].split()) == "CC · digits q=0.3 · seed 0 10/100 62.50 % 0:00:02"
    assert text[2].startswith("0/4 runs ")
    num = len(page.states)
    shown.progressed(RUNS[0], Progress(10, 0.625))  # at once
    assert len(page.states) == num
    shown.finished(RUNS[0], 0.625, 2.0)
    shown.failed(RUNS[1], "<b>no luck</b>")
    shown.ended()
    last = page.states[-1]
    line, bar, failed = last["text/plain"].splitlines()
    assert line == "[2/4] CC · digits q=0.3 · seed 1: FAILED: <b>no luck</b>"
    assert bar.startswith("2/4 runs ")
    assert failed == "1 failed"
    assert "&lt;b&gt;no luck" in last["text/html"]
    assert "<b>" not in last["text/html"]


def test_what_is_special_is_shown_also_where_no_run_begins(clock: Clock, page: Page) -> None:
    shown = NotebookDisplay()
    lines = ["3 records are of another source", "done before, without a model: 3"]
    for line in lines:
        shown.warned(line)
    assert [state["text/plain"] for state in page.states] == [lines[0], "\n".join(lines)]
    shown.begun(RUNS)
    clock.now += 1
    shown.ended()
    *first, bar = page.states[-1]["text/plain"].splitlines()
    assert first == lines
    assert bar.startswith("0/4 runs ")


class Shell:
    """Stands in for IPython's shell."""


def test_where_progress_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("IPython")
    vars(module)["get_ipython"] = lambda: None
    monkeypatch.setitem(sys.modules, "IPython", module)
    assert type(choose_observer(progress=True)) is Display
    shell = Shell()
    vars(module)["get_ipython"] = lambda: shell  # on a terminal
    assert type(choose_observer(progress=True)) is Display
    vars(shell)["kernel"] = object()
    assert type(choose_observer(progress=True)) is NotebookDisplay
    assert type(choose_observer(progress=False)) is Quiet
    observer = Quiet()
    assert choose_observer(observer) is observer


def test_warnings_are_never_lost() -> None:
    with pytest.warns(UserWarning, match=r"^a damaged file$"):
        Quiet().warned("a damaged file")
