"""Random streams: the same number on every machine, another one for every name."""

from hypothesis import given
from hypothesis import strategies as st

from pllbench.seeds import stream_seed


def stream_names() -> list[tuple[str | int, ...]]:
    """Names of all streams of a short run."""
    return [
        *(("split",), ("candidates", "uniform"), ("holdout",), ("init",)),
        *(("order", epoch) for epoch in range(20)),
        *(("method", epoch) for epoch in range(20)),
        *(("views", e, slot, c) for e in range(12) for slot in range(12) for c in range(12)),
    ]


def test_a_stream_is_the_first_63_bits_of_the_sha256_of_its_name() -> None:
    # printf 0/split | sha256sum; printf 3/views/1/0/2 | sha256sum
    assert stream_seed(0, "split") == 0x68A30A9F8B07670A >> 1
    assert stream_seed(3, "views", 1, 0, 2) == 0xA99EFF75AFE26789 >> 1


def test_no_two_streams_of_some_runs_are_the_same() -> None:
    names = stream_names()
    seeds = [stream_seed(seed, *name) for seed in range(12) for name in names]
    assert len(set(seeds)) == len(seeds)


@given(st.integers(min_value=0, max_value=2**70), st.text(), st.integers())
def test_torch_and_numpy_take_every_seed(seed: int, name: str, number: int) -> None:
    assert 0 <= stream_seed(seed, name, number) < 2**63
