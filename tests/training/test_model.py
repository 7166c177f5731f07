"""The file of a trained method: what it keeps, and what is refused."""

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import torch

from pllbench.data.catalogue import DatasetInfo
from pllbench.data.readers.base import Dataset
from pllbench.grid.protocol import Setting
from pllbench.grid.single import single_run
from pllbench.registry import load_method, method_entries
from pllbench.training import model as model_file
from pllbench.training.checkpoints import sealed
from pllbench.training.model import (
    MODEL_HEADER,
    Fitted,
    fit_model,
    pack_model,
    read_model,
    restricted,
)
from tests.factories import CPU, NUM_CLASSES, Toy, make_dataset, make_toy_spec

INFO = DatasetInfo("X", "X", "tabular", "fixed", real_candidates=True, labelled=False)

METHODS = [name for name in method_entries() if load_method(name).labels != "true"]


def dataset() -> Dataset:
    """60 training rows with candidate sets, without true labels."""
    known = make_dataset()
    sets = torch.nn.functional.one_hot(known.y, NUM_CLASSES).bool()
    sets |= torch.rand(sets.shape, generator=torch.Generator().manual_seed(1)) < 0.3
    return Dataset(INFO, known.x, None, NUM_CLASSES, sets, num_train=len(known.x))


def fit(method: str, epochs: int = 2) -> Fitted:
    train: dict[str, Any] = {"epochs": epochs} if load_method(method).gradient else {}
    return fit_model(single_run(method, INFO, Setting(train=train)), dataset(), CPU)


@pytest.fixture(scope="module")
def stored() -> bytes:
    return pack_model(fit("proden").model, {"classes": ["a", "b", "c", "d"]})


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_read_as_it_was_written(tmp_path: Path, method: str) -> None:
    fitted, x = fit(method), dataset().x
    model, weights = fitted.model, fitted.confidence
    path = tmp_path / "model"
    path.write_bytes(pack_model(model, {"note": [1, "b"], "confidence": weights}))
    read, extra = read_model(path, CPU)
    assert torch.equal(read.probabilities(x), model.probabilities(x))
    assert torch.equal(extra.pop("confidence"), weights)
    assert (read.spec, extra) == (model.spec, {"note": [1, "b"]})
    assert weights.shape == (60, NUM_CLASSES)
    assert (weights >= 0).all()
    assert torch.allclose(weights.sum(1), torch.ones(60), atol=1e-4)
    sets = dataset().candidates
    assert sets is not None
    if not type(model.method).noisy_candidates:
        assert not weights[~sets].any()


def test_a_model_keeps_no_rows(stored: bytes) -> None:
    model = fit("proden").model
    assert [len(rows) for rows in (model.task.x, model.task.test_x, model.task.holdout_x)] == [
        0
    ] * 3
    with pytest.raises(ValueError, match=r"rows of the shape \(3,\); the model was trained on \(5"):
        model.probabilities(torch.zeros(2, 3))
    x = dataset().x[:1]
    assert model.probabilities(x).dtype == torch.float64


def test_weights_of_candidates() -> None:
    p = torch.tensor([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0], [0.1, 0.1, 0.8]])
    sets = torch.tensor([[True, True, False], [False, True, True], [False, False, True]])
    expected = torch.tensor([[0.625, 0.375, 0], [0, 0.5, 0.5], [0, 0, 1]])
    assert torch.allclose(restricted(p, sets), expected)


class Sums(Toy):
    """Its weights of a row sum to 2, and some of them are those of no candidate."""

    def training_confidence(self) -> torch.Tensor:
        return torch.full((60, NUM_CLASSES), 2 / NUM_CLASSES)


class Noisy(Sums):
    noisy_candidates = True


class Short(Toy):
    def training_confidence(self) -> torch.Tensor:
        return self.confidence[1:]


class Infinite(Toy):
    def training_confidence(self) -> torch.Tensor:
        return self.confidence * torch.inf


def fit_class(cls: type[Toy], monkeypatch: pytest.MonkeyPatch) -> Fitted:
    monkeypatch.setattr(model_file, "load_method", lambda name: cls)
    spec = make_toy_spec(candidates=None, train={"epochs": 1})
    return fit_model(spec, dataset(), CPU)


def test_confidence_is_among_the_candidates_unless_sets_may_be_noisy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sets = dataset().candidates
    assert sets is not None
    among = fit_class(Sums, monkeypatch).confidence
    assert torch.allclose(among, sets / sets.sum(1, keepdim=True))
    anywhere = fit_class(Noisy, monkeypatch).confidence
    assert torch.allclose(anywhere, torch.full((60, NUM_CLASSES), 1 / NUM_CLASSES))
    for cls in (Short, Infinite):
        with pytest.raises(
            ValueError, match=r"^training_confidence must be weights from 0 .*60, 4"
        ):
            fit_class(cls, monkeypatch)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (lambda file: b"", "not a model of pllbench (damaged, or of another version)"),
        (lambda file: b"PK" + file, "not a model of pllbench (damaged, or of another version)"),
        (lambda file: file[:-1], "not a model of pllbench (damaged)"),
        (lambda file: file + b"\n", "not a model of pllbench (damaged)"),
        (lambda file: file[:100], "not a model of pllbench (damaged)"),
        (lambda file: file[:900] + b"x" + file[901:], "not a model of pllbench (damaged)"),
        (lambda file: file.replace(b"model 1", b"model 2", 1), "of layout 2, this version reads"),
        (lambda file: sealed(b"text", MODEL_HEADER), "not a model of pllbench ("),
        (sealed, "not a model of pllbench (damaged, or of another version)"),
    ],
)
def test_damaged_files_are_refused(
    tmp_path: Path, stored: bytes, changed: Callable[[bytes], bytes], problem: str
) -> None:
    path = tmp_path / "damaged.model"
    path.write_bytes(changed(stored))
    with pytest.raises(ValueError, match=r"^/.*damaged\.model: ") as caught:
        read_model(path, CPU)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"none\.model: not readable \(No such file"):
        read_model(tmp_path / "none.model", CPU)
    with pytest.raises(ValueError, match=r"not readable \(Is a directory"):
        read_model(tmp_path, CPU)


def test_stored_code_is_never_run(tmp_path: Path) -> None:

    class Evil:
        def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
            return Path.touch, (tmp_path / "run",)  # type: ignore[return-value]

    buffer = BytesIO()
    torch.save({"spec": Evil()}, buffer)
    path = tmp_path / "evil.model"
    path.write_bytes(sealed(buffer.getvalue(), MODEL_HEADER))
    with pytest.raises(ValueError, match="not a model of pllbench"):
        read_model(path, CPU)
    assert not (tmp_path / "run").exists()


def written(path: Path, **spec: Any) -> Path:
    """The file of a model whose run says something else."""
    model = fit("proden").model
    other = model.spec.model_copy(update=spec)
    path.write_bytes(pack_model(replace(model, spec=other), {}))
    return path


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"version": 0}, "made with version 0 of method proden, this is version 1: fit it again"),
        ({"core_version": 0}, "made with version 0 of the core, this is version"),
        ({"method": "prodenx"}, "unknown method 'prodenx': did you mean proden?"),
        ({"method": "pico"}, "does not fit method pico any more"),
        ({"hparams": {"weight": 1}}, "does not fit method proden any more"),
    ],
)
def test_other_versions_are_refused(tmp_path: Path, spec: dict[str, Any], problem: str) -> None:
    path = written(tmp_path / "old.model", **spec)
    with pytest.raises(ValueError, match=r"old\.model: ") as caught:
        read_model(path, CPU)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_run_with_unknown_settings_is_of_another_version(tmp_path: Path) -> None:
    path = written(tmp_path / "new.model")
    content = model_file._read(path)
    content["spec"] = content["spec"].replace('"seed":', '"salt":1,"seed":', 1)

    buffer = BytesIO()
    torch.save(content, buffer)
    path.write_bytes(sealed(buffer.getvalue(), MODEL_HEADER))
    with pytest.raises(ValueError, match=r"of another version of pllbench \(its run: .*'salt'"):
        read_model(path, CPU)
