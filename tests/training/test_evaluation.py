"""Evaluation: metrics against worked examples and their definitions, predictions in chunks."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pllbench.training import evaluation
from pllbench.training.evaluation import (
    accuracy,
    approximated_accuracy,
    covering_rate,
    evaluate,
    noise_rates,
    predictions,
)
from pllbench.training.trainer import build_method
from tests.factories import Toy, make_small_task, make_toy_spec

labels = st.integers(2, 6).flatmap(
    lambda c: st.tuples(
        st.just(c),
        st.lists(st.tuples(st.integers(0, c - 1), st.integers(0, c - 1)), min_size=2, max_size=12),
    )
)
"""Number of classes, and pairs of true and pseudo label."""


def sets(*rows: set[int], num_classes: int = 3) -> torch.Tensor:
    return torch.tensor([[k in row for k in range(num_classes)] for row in rows])


def logits(*rows: list[float]) -> torch.Tensor:
    """Scores whose softmax are the given probabilities."""
    return torch.tensor(rows).log()


def test_accuracy_is_the_share_of_right_rows() -> None:
    scores = torch.tensor([[0.1, 0.9], [0.8, 0.2], [0.6, 0.4]])
    assert accuracy(scores, torch.tensor([1, 1, 0])) == pytest.approx(2 / 3, abs=1e-15)


def test_noise_rates_of_the_worked_example() -> None:
    # The example in docs/methods/asyco.md: 1/3 of the labels, 2/3 of the pairs off the diagonal.
    wrong, pairwise = noise_rates(torch.tensor([0, 1, 1]), torch.tensor([0, 0, 1]), 2)
    assert wrong == pytest.approx(1 / 3)
    assert pairwise == pytest.approx(2 / 3)


@given(labels)
def test_noise_rates_are_their_definitions(case: tuple[int, list[tuple[int, int]]]) -> None:
    num_classes, rows = case
    y, pseudo = torch.tensor(rows).unbind(1)
    wrong, pairwise = noise_rates(pseudo, y, num_classes)
    assert wrong == pytest.approx(np.mean([t != p for t, p in rows]))
    pairs = [
        (rows[i][0] == rows[j][0]) != (rows[i][1] == rows[j][1])
        for i, j in itertools.permutations(range(len(rows)), 2)
    ]
    assert pairwise == pytest.approx(np.mean(pairs), abs=1e-12)


@given(labels)
def test_pairwise_noise_does_not_care_how_clusters_are_named(
    case: tuple[int, list[tuple[int, int]]],
) -> None:
    num_classes, rows = case
    y, pseudo = torch.tensor(rows).unbind(1)
    renamed = (pseudo + 1) % num_classes
    found, again = (noise_rates(p, y, num_classes)[1] for p in (pseudo, renamed))
    assert found == pytest.approx(again, abs=1e-12)
    assert noise_rates((y + 1) % num_classes, y, num_classes) == (1, 0)


def test_noise_of_one_row_has_no_pairs() -> None:
    wrong, pairwise = noise_rates(torch.tensor([1]), torch.tensor([0]), 2)
    assert wrong == 1
    assert math.isnan(pairwise)


def test_noise_rates_of_a_large_set_are_exact() -> None:
    y = torch.arange(50_000) % 10
    pseudo = y.clone()
    pseudo[0] = 1
    wrong, pairwise = noise_rates(pseudo, y, 10)
    assert wrong == 1 / 50_000
    # Row 0 leaves 4,999 of its class and joins 5,000 of another; each pair counts twice.
    assert pairwise == pytest.approx(2 * (4999 + 5000) / (50_000 * 49_999), rel=1e-12)


def test_hold_out_criteria_of_a_worked_example() -> None:
    scores = logits([0.5, 0.3, 0.2], [0.2, 0.7, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8])
    candidates = sets({0, 1}, {0, 2}, {0, 1, 2}, {2})
    # The second row predicts class 1, which is none of its candidates.
    assert covering_rate(scores, candidates) == 3 / 4
    expected = (0.5 / 0.8 + 0 + 0.5 / 1.0 + 0.8 / 0.8) / 4
    assert approximated_accuracy(scores, candidates) == pytest.approx(expected, abs=1e-7)


@given(st.integers(0, 2**32), st.integers(1, 20), st.integers(2, 6))
def test_approximated_accuracy_is_its_definition(seed: int, num_rows: int, c: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = 3 * torch.randn(num_rows, c, generator=generator)
    candidates = torch.rand(num_rows, c, generator=generator) < 0.5
    candidates[:, 0] = True
    p = np.exp(scores.double().numpy())
    p /= p.sum(1, keepdims=True)
    values = []
    for row, inside in zip(p, candidates.numpy(), strict=True):
        k = row.argmax()
        values.append(row[k] / row[inside].sum() if inside[k] else 0.0)
    found = approximated_accuracy(scores, candidates)
    assert found == pytest.approx(np.mean(values), abs=1e-12)
    assert 0 <= found <= covering_rate(scores, candidates) <= 1


def test_extreme_scores_give_finite_criteria() -> None:
    scores = torch.tensor([[1e4, 0.0, -1e4], [-1e4, 1e4, 0.0], [0.0, -1e30, 1e30]])
    candidates = sets({0}, {0, 2}, {2})
    assert covering_rate(scores, candidates) == 2 / 3
    assert approximated_accuracy(scores, candidates) == pytest.approx(2 / 3)


@pytest.mark.parametrize("chunk", [1, 7, 512])
def test_evaluation_does_not_depend_on_its_batch_size(
    monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    spec = make_toy_spec(holdout=0.25, train={"network": "mlp"}, views={"scaling": "zscore"})
    task = make_small_task(spec)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        method = build_method(spec, Toy, task)
    whole, scores = evaluate(method, task), predictions(method, task, task.test_x)
    monkeypatch.setattr(evaluation, "EVALUATION_CHUNK", chunk)
    found = evaluate(method, task)
    assert (found["accuracy"], found["covering_rate"]) == (
        whole["accuracy"],
        whole["covering_rate"],
    )
    criterion = "approximated_accuracy"
    assert found[criterion] == pytest.approx(whole[criterion], rel=1e-6)
    torch.testing.assert_close(predictions(method, task, task.test_x), scores)
    assert not method.training


def evaluated(*heads: str, given: Callable[[torch.Tensor], object]) -> dict[str, float]:
    """Evaluation of a method whose scores, or those of its heads, are `given` of the right ones."""

    class Answering(Toy):
        def predict(self, x: torch.Tensor) -> torch.Tensor:
            scores = super().predict(x)
            return scores if heads else given(scores)  # type: ignore[return-value]

        def extra_predictions(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {head: given(self.predict(x)) for head in heads}  # type: ignore[misc]

    spec = make_toy_spec()
    task = make_small_task(spec)  # 12 test rows of 4 classes
    with torch.random.fork_rng():
        torch.manual_seed(0)
        method = build_method(spec, Answering, task)
    method.epoch = 3
    return evaluate(method, task)


MISSHAPEN: dict[str, Callable[[torch.Tensor], object]] = {
    "float32 scores of shape [1, 4]": lambda scores: scores[:1],
    "float32 scores of shape [12, 2]": lambda scores: scores[:, :2],
    "float32 scores of shape [12]": lambda scores: scores[:, 0],
    "float32 scores of shape [12, 4, 1]": lambda scores: scores[:, :, None],
    "int64 scores of shape [12, 4]": lambda scores: scores.long(),
    "bool scores of shape [12, 4]": lambda scores: scores > 0,
    "complex64 scores of shape [12, 4]": lambda scores: scores.to(torch.complex64),
}


@pytest.mark.parametrize("heads", [(), ("peer",)])
@pytest.mark.parametrize("what", MISSHAPEN)
def test_scores_of_another_shape_or_dtype_are_refused(what: str, heads: tuple[str, ...]) -> None:
    where = "extra_predictions (peer)" if heads else "predict"
    with pytest.raises(ValueError, match=r"gives") as caught:
        evaluated(*heads, given=MISSHAPEN[what])
    assert str(caught.value) == (
        f"{where} gives {what} for 12 rows of 4 classes, must be floating-point numbers [12, 4]"
    )


def test_scores_that_are_no_tensor_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^predict gives a ndarray, not a tensor of scores$"):
        evaluated(given=lambda scores: scores.numpy())


def with_row(*values: float) -> Callable[[torch.Tensor], torch.Tensor]:
    """Scores whose row 5 is the given one."""

    def given(scores: torch.Tensor) -> torch.Tensor:
        return torch.cat([scores[:5], torch.tensor([values]), scores[6:]])

    return given


@pytest.mark.parametrize("heads", [(), ("peer",)])
@pytest.mark.parametrize(
    ("row", "what"),
    [
        ((1.0, math.nan, 0.0, 0.0), "a score is NaN"),
        ((1.0, math.inf, 0.0, 0.0), "a score is inf"),
        ((-math.inf, math.inf, 0.0, 0.0), "a score is inf"),
        ((-math.inf,) * 4, "all scores of a row are -inf"),
    ],
)
def test_scores_that_are_no_probabilities_are_refused(
    row: tuple[float, ...], what: str, heads: tuple[str, ...]
) -> None:
    where = "extra_predictions (peer)" if heads else "predict"
    with pytest.raises(FloatingPointError) as caught:
        evaluated(*heads, given=with_row(*row))
    assert str(caught.value) == f"{what} after the last step of epoch 3: {where}, row 5 of 12"


def test_minus_infinity_is_a_probability_of_zero() -> None:
    right = evaluated("peer", given=lambda scores: scores)
    found = evaluated("peer", given=with_row(-math.inf, -math.inf, 0.0, -math.inf))
    assert found.keys() == right.keys()
    assert abs(found["accuracy_peer"] - right["accuracy_peer"]) <= 1 / 12 + 1e-12


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_scores_of_another_floating_point_dtype_are_taken(dtype: torch.dtype) -> None:
    evaluated(given=lambda scores: scores.to(dtype))


class Once(Toy):
    """Has scores of a head for the first 8 rows only."""

    def extra_predictions(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"once": self.predict(x)} if len(x) == 8 else {}


def test_a_head_that_scores_some_rows_only_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "EVALUATION_CHUNK", 8)
    task = make_small_task(make_toy_spec())
    method = build_method(make_toy_spec(), Once, task)
    with pytest.raises(ValueError, match=r"^extra_predictions \(once\) gives scores of 8 of 12"):
        evaluate(method, task)
