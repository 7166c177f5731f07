"""Wrong requests of commands on records: one line that names the place, exit code 2, no change."""

import shlex
import shutil
from pathlib import Path

import pytest

from pllbench.results.records import record_path
from tests.commands import contents, refused
from tests.factories import make_record, make_spec, store

CC, RC = make_spec("cc", train={"epochs": 3}), make_spec("rc", train={"epochs": 3})


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results folders: two records; one with damaged curves, one with another id; none; a file."""
    root = tmp_path_factory.mktemp("folders")
    store(root / "good", [make_record(CC, 80.0), make_record(RC, 70.0)])
    store(root / "cut", [make_record(CC, 80.0)])
    curves = record_path(root / "cut", CC).with_suffix(".npz")
    curves.write_bytes(curves.read_bytes()[:-9])
    store(root / "other", [make_record(CC, 80.0)])
    path = record_path(root / "other", CC)
    path.rename(path.with_name(f"{'0' * 16}.json"))
    (root / "empty").mkdir()
    (root / "file").touch()
    (root / "text.json").write_text("not JSON")
    (root / "list.json").write_text("[]")
    (root / "sources" / "records").mkdir(parents=True)
    shutil.copytree(root / "good", root / "sources", dirs_exist_ok=True)
    (root / "sources" / "sources.json").write_text("[]")
    return root


RUN = CC.run_id

WRONG = {
    # show
    "show": "Missing argument 'run'",
    "show ''": "results: no such folder",
    "show '' --results good": "good: 2 runs there begin with '': ",
    "show xyz --results good": "good: no run there whose id begins with 'xyz'",
    f"show {RUN}0 --results good": f"good: no run there whose id begins with '{RUN}0'",
    f"show {RUN.upper()} --results empty": "empty: no run there whose id begins with",
    "show '*' --results good": "good: no run there whose id begins with '*'",
    "show ../../x --results good": "good: no run there whose id begins with '../../x'",
    "show nothing.json": "nothing.json: not readable (",
    "show text.json": "text.json: not readable as JSON (",
    "show list.json": "list.json: schema None, this version reads 1",
    f"show {RUN} --results cut": "npz: not readable (its end is cut off or damaged)",
    "show 0000 --results other": "its spec has the id",
    f"show {RUN} --results file": "--results file: no such folder",
    f"show {RUN} more --results good": "unexpected extra argument",
    # rerun
    "rerun --results good": "Missing argument 'runs'",
    "rerun xyz --results good": "good: no run there whose id begins with 'xyz'",
    f"rerun {RUN} --results nowhere": "--results nowhere: no such folder",
    f"rerun {RUN} --results cut": "npz: not readable (its end is cut off or damaged)",
    f"rerun {RUN} --keep '' --results good": "--keep : an entry is empty",
    f"rerun {RUN} --keep models --results good": "--keep models: did you mean model?",
    f"rerun {RUN} --device gpu --results good": "--device gpu: did you mean cpu?",
    f"rerun {RUN} --jobs 0 --results good": "'--jobs': Input should be greater than or equal to 1",
    f"rerun {RUN} --datasets nothing.npz --results good": "nothing.npz: no such file or folder",
    f"rerun {RUN} --datasets digit --results good": "unknown data set 'digit': did you mean",
    f"rerun {RUN} --methods cc --results good": "No such option: --methods",
    # remove
    "remove --results nowhere": "--results nowhere: no such folder",
    "remove --yes --results good": "--yes: name runs or a selection; for all, delete the",
    "remove xyz --yes --results good": "good: no run there whose id begins with 'xyz'",
    f"remove {RUN} xyz --yes --results good": "good: no run there whose id begins with 'xyz'",
    "remove '' --yes --results good": "good: 2 runs there begin with '': ",
    "remove --methods ccc --yes --results good": "unknown method 'ccc': did you mean cc?",
    "remove --methods proden --yes --results good": "none of the 2 runs here meets the selection",
    "remove --benchmark digit --yes --results good": "unknown benchmark 'digit': did you mean",
    "remove --q 2 --yes --results good": "--q 2: must be a number from 0 to 1",
    f"remove {RUN} --yes --results good --results empty": "no run there whose id begins",
    f"remove {RUN} --force --results good": "No such option: --force",
    # export
    "export --results nowhere": "--results nowhere: no such folder",
    "export --results empty": "--results empty: no runs to export there",
    "export --format parquet --results good": "--format parquet: no text: name a file with",
    "export --format xml --results good": "'xml' is not one of 'csv', 'parquet', 'json'",
    "export --methods ccc --results good": "unknown method 'ccc': did you mean cc?",
    "export --datasets lost --results good": "none of the 2 runs here meets the selection",
    "export --benchmark digit --results good": "unknown benchmark 'digit': did you mean digits?",
    "export --output good --results good": "--output good: not writable (Is a directory)",
    "export --output file/a.csv --results good": "--output file/a.csv: not writable (",
    # merge
    "merge": "Missing argument 'folders'",
    "merge good": "Missing option '--output'",
    "merge --output out": "Missing argument 'folders'",
    "merge nowhere --output out": "nowhere: no such folder",
    "merge good nowhere --output out": "nowhere: no such folder",
    "merge file --output out": "file: no such folder",
    "merge empty --output out": "empty: no records there; is it another folder?",
    "merge good/records --output out": "good/records: no records there; is it another folder?",
    "merge sources --output out": "sources/sources.json: Input should be an object",
    "merge good --output file": "file/",
    "merge good --output out --methods cc": "No such option: --methods",
    # new
    "new": "Missing argument 'what'",
    "new method": "Missing argument 'name'",
    "new dataset mine": "'dataset' is not one of 'method'",
    "new method My": "method 'My': its name must be small letters, digits and single '_'",
    "new method mine --directory file": "file/pll-mine",
    # data --template, run --keep
    "data --template": "Option '--template' requires an argument",
    "data --template parquet": "'parquet' is not one of 'csv'",
    "data --template csv --output file": "--output file: is there already: name another file",
    "data --template csv --output file/a.csv": "--output file/a.csv: not writable (",
    "data digits --template csv": "--template csv: an example, so without the data set digits",
    "run --methods cc --keep score": "--keep score: known: model, predictions",
    "run --methods cc --keep model,,": "--keep model,,: an entry is empty",
}


@pytest.mark.parametrize("request_", WRONG)
def test_wrong_requests_are_refused(
    folders: Path, monkeypatch: pytest.MonkeyPatch, request_: str
) -> None:
    monkeypatch.chdir(folders)
    before = contents(folders)
    message = refused(*shlex.split(request_))
    assert WRONG[request_] in message
    assert contents(folders) == before
