"""Data sets: loading by the catalogue, split into training and test rows, hold-out."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pllbench.data.catalogue import DATASETS, Split
from pllbench.data.dataset import hold_out, load_dataset, require_files, split
from pllbench.data.readers.base import Dataset
from tests.data.files import mat_variables, refusal, save_mat


@pytest.mark.parametrize("folder", [".", "not/there"])
def test_missing_file_says_what_to_put_where(tmp_path: Path, folder: str) -> None:
    for name, info in DATASETS.items():
        if info.file is None or info.downloads:
            require_files(info, tmp_path / folder)
        else:
            with pytest.raises(ValueError, match=name) as caught:
                require_files(info, tmp_path / folder)
            assert str(tmp_path / folder / info.file) in str(caught.value)
            assert info.source in str(caught.value)
            assert refusal(name, tmp_path / folder) == str(caught.value)


def test_a_row_without_its_true_label_needs_permission(tmp_path: Path) -> None:
    content = mat_variables()
    content["partial_target"][:, 6] = 1 - content["target"][:, 6]
    path = save_mat(tmp_path, content)
    message = refusal("lost", tmp_path)
    assert message.startswith(f"{path}: row 6 (counted from 0) does not have its true label")
    assert load_dataset(DATASETS["lost"], tmp_path, noisy=True).candidates is not None


def dataset_of(class_sizes: list[int], split_by: Split) -> Dataset:
    y = torch.repeat_interleave(torch.arange(len(class_sizes)), torch.tensor(class_sizes))
    info = replace(DATASETS["digits"], name="toy", split=split_by)
    return Dataset(info, torch.zeros(len(y), 2), y, len(class_sizes))


@given(
    class_sizes=st.lists(st.integers(0, 40), min_size=2, max_size=8).filter(lambda s: max(s) > 2),
    split_by=st.sampled_from(["random", "stratified"]),
    seed=st.integers(0, 2**32),
)
def test_every_row_trains_or_tests(class_sizes: list[int], split_by: Split, seed: int) -> None:
    dataset = dataset_of(class_sizes, split_by)
    train, test = split(dataset, seed)
    assert (train.dtype, test.dtype) == (torch.int64, torch.int64)
    assert torch.cat([train, test]).sort().values.tolist() == list(range(len(dataset.y)))
    assert train.tolist() == sorted(train.tolist())
    assert test.tolist() == sorted(test.tolist())
    if split_by == "stratified":
        tested = torch.bincount(dataset.y[test], minlength=len(class_sizes)).tolist()
        assert tested == [round(0.2 * size) for size in class_sizes]
    else:
        assert len(test) == round(0.2 * len(dataset.y))


def test_a_class_of_one_row_trains() -> None:
    train, _ = split(dataset_of([50, 1, 0, 7], "stratified"), 0)
    assert 50 in train.tolist()


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^data set 'toy': 2 rows are too few"):
        split(dataset_of([1, 1], "random"), 0)
    with pytest.raises(ValueError, match=r"^data set 'toy': 4 rows are too few"):
        split(dataset_of([2, 2], "stratified"), 0)


def test_split_depends_on_its_seed_alone() -> None:
    dataset = dataset_of([100, 100], "random")
    torch.manual_seed(0)
    first = split(dataset, 0)[1].tolist()
    torch.manual_seed(1)
    assert split(dataset, 0)[1].tolist() == first
    assert split(dataset, 1)[1].tolist() != first


@given(num_rows=st.integers(10, 200), share=st.floats(0.1, 0.9), seed=st.integers(0, 2**32))
def test_hold_out_divides_the_training_rows(num_rows: int, share: float, seed: int) -> None:
    rows = torch.arange(num_rows) * 3
    kept, held = hold_out(rows, share, seed)
    assert len(held) == round(share * num_rows)
    assert torch.cat([kept, held]).sort().values.tolist() == rows.tolist()
    assert held.tolist() == sorted(held.tolist())


def test_a_hold_out_of_share_0_is_empty_and_one_that_takes_no_row_or_all_is_refused() -> None:
    rows = torch.arange(10)
    kept, held = hold_out(rows, 0, 0)
    assert kept.tolist() == rows.tolist()
    assert held.tolist() == []
    for share in (0.01, 0.99):
        with pytest.raises(ValueError, match="hold-out share"):
            hold_out(rows, share, 0)
