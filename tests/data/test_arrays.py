"""Data sets of the caller's arrays: what they are stored as, and what is refused."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_array

from pllbench.data.arrays import Arrays
from pllbench.data.custom import custom_info
from pllbench.data.dataset import load_dataset
from pllbench.validation import FieldError

X = np.array([[0.5, 1.0], [2.0, 3.0], [4.0, 5.0]])
Y = np.array([0, 1, 1])
SETS = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0]])


def stored(arrays: Arrays) -> dict[str, np.ndarray]:
    return dict(np.load(BytesIO(arrays.content())))


def test_what_is_given_is_stored_under_the_names_of_own_data() -> None:
    found = stored(Arrays("birds", X, Y, candidates=SETS, num_train=2, kind="text"))
    assert found.keys() == {"x", "y", "candidates", "num_train", "kind"}
    assert found["candidates"].tolist() == SETS.tolist()
    assert (found["num_train"].item(), found["kind"].item()) == (2, "text")


@pytest.mark.parametrize(
    ("x", "sets"),
    [
        (X.tolist(), SETS.tolist()),
        (torch.from_numpy(X).requires_grad_(), torch.from_numpy(SETS)),
        (pd.DataFrame(X), pd.DataFrame(SETS)),
        (csr_array(X), csr_array(SETS)),
    ],
)
def test_the_form_of_the_arrays_changes_nothing(x: object, sets: object) -> None:
    plain = Arrays("birds", X, Y, candidates=SETS).content()
    assert Arrays("birds", x, Y, candidates=sets).content() == plain


def test_arrays_are_read_as_own_data_of_their_content(tmp_path: Path) -> None:
    path = tmp_path / "birds.npz"
    path.write_bytes(Arrays("birds", X, Y, candidates=SETS).content())
    info = custom_info(path)
    assert (info.name, info.kind, info.real_candidates) == ("birds", "tabular", True)
    dataset = load_dataset(info, tmp_path)
    assert dataset.x.tolist() == X.tolist()
    np.savez(tmp_path / "again.npz", x=X, y=Y, candidates=SETS)
    assert custom_info(tmp_path / "again.npz").digest == info.digest


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("digits", "datasets digits: is a data set of the suite: choose another"),
        ("Digits", "datasets Digits: is a data set of the suite: choose another"),
        ("my birds", "datasets my birds: its name must be letters, digits"),
        (5, "datasets 5: its name must be letters, digits"),
    ],
)
def test_names_that_records_cannot_have_are_refused(name: str, message: str) -> None:
    with pytest.raises(FieldError, match=f"^{message}"):
        Arrays(name, X, Y)


def test_objects_are_no_numbers() -> None:
    with pytest.raises(FieldError, match=r"^datasets birds: `x` holds other objects than numbers$"):
        Arrays("birds", [[object()]], [0]).content()
