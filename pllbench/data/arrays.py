"""A data set of the caller's arrays, for the duration of a call and of its runs.

It is stored as the .npz file that `pllbench.data.custom` describes, so that workers, other machines
and later calls find the very data: runs on arrays are runs on custom data.
"""

from dataclasses import dataclass
from io import BytesIO
from typing import Any

from pllbench.data.catalogue import DATASETS
from pllbench.validation import FieldError, folded_name, folder_name_problem


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """A data set in memory: arrays, tensors or data frames of numbers.

    Attributes:
        name: how records and tables call it.
        x: [N, D] features, or images, uint8: [N, height, width], with channels last or first.
        y: [N] true labels, whole numbers from 0; may be left out beside candidates or annotations.
        candidates: [N, C] 0/1, dense or sparse, where the candidate sets come with the data; else a
            process generates them.
        annotations: [M, 3] row, annotator, label, of which a rule makes candidate sets.
        num_train: the first so many rows train, the others test; without it the split is drawn.
        num_classes: C, where not all classes occur.
        kind: tabular, text, image or digits; by the shape of `x` where it is not given.
    """

    name: str
    x: Any
    y: Any = None
    candidates: Any = None
    annotations: Any = None
    num_train: int | None = None
    num_classes: int | None = None
    kind: str | None = None

    def __post_init__(self) -> None:
        if problem := folder_name_problem(self.name):
            raise FieldError("datasets", problem, self.name)
        if folded_name(self.name) in DATASETS:
            raise FieldError("datasets", "is a data set of the suite: choose another", self.name)

    def content(self) -> bytes:
        """The .npz file of these arrays; equal arrays are equal bytes.

        Raises:
            FieldError: an array holds other objects than numbers.
        """
        import numpy as np

        fields = ("x", "y", "candidates", "annotations", "num_train", "num_classes", "kind")
        values = {key: getattr(self, key) for key in fields}
        arrays = {key: _as_array(value) for key, value in values.items() if value is not None}
        for key, array in arrays.items():
            if array.dtype.hasobject:
                raise FieldError("datasets", f"`{key}` holds other objects than numbers", self.name)
        buffer = BytesIO()
        np.savez(buffer, **arrays)
        return buffer.getvalue()


def _as_array(value: Any) -> Any:
    import numpy as np

    if hasattr(value, "toarray"):  # sparse
        value = value.toarray()
    if hasattr(value, "detach"):  # a tensor, perhaps on a GPU
        value = value.detach().cpu()
    return np.asarray(value, order="C")
