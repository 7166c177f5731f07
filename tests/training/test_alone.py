"""Training in the caller's own process."""

import threading
import time

import pytest
import torch

from pllbench.training.alone import alone, shown_epochs
from pllbench.training.trainer import Progress


def test_one_thread_at_a_time_with_one_torch_thread() -> None:
    torch.set_num_threads(2)
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        with alone():
            inside.append(torch.get_num_threads())
            time.sleep(0.02)
            most.append(len(inside))
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert most == [1, 1, 1, 1]
        assert torch.get_num_threads() == 2
        with pytest.raises(KeyError), alone():
            raise KeyError
        assert torch.get_num_threads() == 2
        with alone():
            assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(1)


@pytest.mark.parametrize("on", [True, False])
def test_nothing_is_shown_where_there_is_no_terminal(
    on: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with shown_epochs("cc", 2, on=on) as on_epoch:
        assert on_epoch(Progress(0, None))
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_the_epochs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with shown_epochs("cc", 4, on=True) as on_epoch:
        on_epoch(Progress(1, None))
    shown = capsys.readouterr().err
    assert "cc" in shown
    assert "50%" in shown
