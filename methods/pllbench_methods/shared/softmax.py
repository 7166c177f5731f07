"""Softmax over the last dimension, which has the classes, quick for few of them too.

On a CPU torch's kernel for the last dimension fills whole vector registers from a row. Rows of
fewer than 16 numbers do not fill one and take up to nine times as long as rows of 16. Over another
dimension the kernel works on many rows at once, so short rows are turned before and after. The
numbers are the same up to rounding.
"""

from torch import Tensor

SHORT = 16
"""Classes from which on a row is long enough."""


def log_softmax(logits: Tensor) -> Tensor:
    """Log probabilities [..., C]."""
    if _short(logits):
        return logits.mT.log_softmax(-2).mT
    return logits.log_softmax(-1)


def softmax(logits: Tensor) -> Tensor:
    """Probabilities [..., C]."""
    if _short(logits):
        return logits.mT.softmax(-2).mT
    return logits.softmax(-1)


def _short(logits: Tensor) -> bool:
    return logits.ndim > 1 and logits.shape[-1] < SHORT and not logits.is_cuda
