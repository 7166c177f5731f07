"""Features of a data set's rows from a file of their own, by which candidate sets are pruned."""

import numpy as np
import torch
from torch import Tensor

from pllbench.data.catalogue import DatasetInfo
from pllbench.data.custom import content_digest
from pllbench.data.readers.base import Dataset, as_features, as_matrix, short_message


def read_features(info: DatasetInfo, dataset: Dataset) -> Tensor:
    """Features [N, D] of all rows; where a file has training rows alone, those of test rows are 0.

    Args:
        info: names the file.
        dataset: whose rows they are, in its order.

    Raises:
        ValueError: no .npz file with an array `features` of finite numbers for each row, or one
            that has changed since the runs were planned.
    """
    path = info.features
    assert path is not None
    if content_digest(path) != info.features_digest:
        raise ValueError(f"{path}: has changed since the runs were planned: start again")
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            values = stored["features"]
    except KeyError as error:
        raise ValueError(f"{path}: no array `features` in it") from error
    except Exception as error:  # zipfile, zlib and NumPy each raise their own kind
        raise ValueError(f"{path}: not a .npz file, or cut off ({short_message(error)})") from error
    where = f"{path}: `features`"
    found, num_rows = as_features(as_matrix(values, where), where), len(dataset.x)
    if len(found) == dataset.num_train:
        rest = torch.zeros(num_rows - len(found), found.shape[1])
        return torch.cat([found, rest])
    if len(found) != num_rows:
        raise ValueError(f"{where} has {len(found)} rows, {info.name} has {num_rows}")
    return found
