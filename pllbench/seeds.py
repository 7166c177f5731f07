"""Random streams: every random decision has a name, and its seed is a hash of that name.

Two streams with different names are independent, and adding a consumer of one changes nothing in
another. That is what makes comparisons paired: at one seed, all methods see the same split, the
same candidate sets and the same batches.
"""

import hashlib


def stream_seed(seed: int, *name: str | int) -> int:
    """Seed of the random stream `name` of a run: a 63-bit integer, the same on every machine."""
    text = "/".join([str(seed), *map(str, name)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
