"""Scripts that execute runs with worker processes, with a main guard and without."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pllbench.runner.main_module import without_main
from tests import plugins

SCRIPT = """
import pllbench
from tests.factories import Toy

print("begun")

class Mine(Toy):
    def predict(self, x):
        return 2 * super().predict(x)

def main():
    results = pllbench.run(
        ["cc", Mine], "lost", seeds=1, epochs=1, data_dir=".", results="results", jobs=2
    )
    print(len(results.finished), results.failed)

"""

CALLS = {
    "guarded": 'if __name__ == "__main__":\n    main()\n',
    "plain": "main()\n",
    "thread": "import threading\nt = threading.Thread(target=main)\nt.start()\nt.join()\n",
}


@pytest.mark.parametrize("call", CALLS)
def test_a_script_runs_once(call: str, tmp_path: Path) -> None:
    plugins.write_lost(tmp_path)
    (tmp_path / "script.py").write_text(SCRIPT + CALLS[call])
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(root), "PATH": "", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "begun\n2 []\n"


def test_code_of_standard_input_runs_once(tmp_path: Path) -> None:
    plugins.write_lost(tmp_path)
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-"],
        input=SCRIPT + CALLS["plain"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(root), "PATH": "", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "begun\n2 []\n", done.stderr


def test_the_main_module_comes_back_whoever_was_first() -> None:
    main = sys.modules["__main__"]
    seen: list[bool] = []

    def swap() -> None:
        with without_main():
            seen.append(sys.modules["__main__"] is main)

    threads = [threading.Thread(target=swap) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [False] * 20
    assert sys.modules["__main__"] is main
