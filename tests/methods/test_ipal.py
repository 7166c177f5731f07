"""The examples of docs/methods/ipal.md, and IPAL's twin."""

import numpy as np
import pytest
import torch
from scipy.optimize import lsq_linear
from scipy.sparse import csr_array
from torch import Tensor

from pllbench_methods.ipal import (
    IPAL,
    balanced_labels,
    neighbour_graph,
    propagate,
    reconstruction_weights,
)
from tests.methods.fakes import Array, fitted, normal, random_candidates, sets


@pytest.mark.parametrize(
    ("x", "neighbours", "expected"),
    [
        ([1.0, 1.0], [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], [1, 1, 0]),
        ([1.0, 1.0], [[2.0, 0.0], [0.0, 4.0], [-1.0, -1.0]], [0.5, 0.25, 0]),
        ([-1.0, -1.0], [[2.0, 0.0], [0.0, 4.0], [1.0, 1.0]], [0, 0, 0]),
    ],
)
def test_weights_of_neighbours(
    x: list[float], neighbours: list[list[float]], expected: list[float]
) -> None:
    """Example 1."""
    found = reconstruction_weights(
        torch.tensor(neighbours), torch.tensor([x]), torch.tensor([[0, 1, 2]])
    )
    assert found[0].tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", [1425, 2186, 11128, 12354])
def test_columns_of_very_unequal_size_take_their_rounds(seed: int) -> None:
    """Ten neighbours, of which the first is the row itself: it alone has a weight."""
    stream = np.random.default_rng(seed)
    size = 10.0 ** stream.uniform(-5, 3, (12, 1))
    columns = (size * (1 + 0.3 * stream.standard_normal((12, 10)))).astype(np.float32)
    rows = torch.from_numpy(columns.T.copy())
    found = reconstruction_weights(rows, rows[:1], torch.arange(10)[None])
    assert found[0].tolist() == pytest.approx([1] + [0] * 9, abs=1e-6)


def test_rows_of_the_graph_sum_to_1_or_have_no_neighbour() -> None:
    graph = neighbour_graph(
        np.array([[3.0, 1.0], [0, 0], [0, 2]]), torch.tensor([[1, 2], [0, 2], [0, 1]])
    )
    assert graph.toarray().tolist() == [[0, 0.75, 0.25], [0, 0, 0], [0, 1, 0]]


GRAPH = csr_array(np.array([[0, 0.5, 0.5], [1, 0, 0], [0, 1, 0]]))
THREE = sets({0, 1}, {1}, {0, 2}, num_classes=3)


def test_one_round_of_the_propagation() -> None:
    """Example 2."""
    assert propagate(GRAPH, THREE, 0.95, 0).tolist() == [[0.5, 0.5, 0], [0, 1, 0], [0.5, 0, 0.5]]
    expected = torch.tensor([[0.344262, 0.655738, 0], [0, 1, 0], [0.5, 0, 0.5]]).double()
    torch.testing.assert_close(propagate(GRAPH, THREE, 0.95, 1), expected, atol=1e-6, rtol=0)


def test_a_row_without_neighbours_keeps_its_uniform_confidence() -> None:
    graph = csr_array(np.array([[0, 1.0, 0], [1.0, 0, 0], [0, 0, 0]]))
    assert propagate(graph, THREE, 0.95, 50)[2].tolist() == [0.5, 0, 0.5]


def test_labels_are_taken_when_classes_have_the_mass_that_they_began_with() -> None:
    """Example 3."""
    confidence = torch.tensor([[0.45, 0.55], [0.2, 0.8], [0.3, 0.7]]).double()
    labels = balanced_labels(confidence, torch.ones(3, 2, dtype=torch.bool))
    # Factors 1.5 / .95 and 1.5 / 2.05: (.710526, .402439), (.315789, .585366), (.473684, .512195).
    assert labels.tolist() == [0, 1, 1]


def test_a_class_that_is_nobodys_candidate_is_nobodys_label() -> None:
    confidence = torch.tensor([[0.4, 0.6, 0], [1, 0, 0]]).double()
    assert balanced_labels(confidence, sets({0, 1}, {0}, num_classes=3)).tolist() == [1, 0]


def test_the_label_that_reconstructs_best() -> None:
    """Example 4."""
    method, _ = fitted(IPAL, torch.eye(2), sets({0}, {1}, num_classes=3))
    scores = method.predict(torch.tensor([[0.8, 0.6]]))
    assert scores[0].tolist() == pytest.approx([-0.36, -0.64, -torch.inf], abs=1e-6)


def test_a_label_that_no_neighbour_has_does_not_win() -> None:
    """Example 5: the parts (5, .5) and (-5, .5) are farther from (0, 1) than 0, the third's."""
    rows = torch.tensor([[10.0, 1.0], [-10.0, 1.0]])
    method, _ = fitted(IPAL, rows, sets({0}, {1}, num_classes=3))
    scores = method.predict(torch.tensor([[0.0, 1.0]]))
    assert scores[0].tolist() == pytest.approx([-25.25, -25.25, -torch.inf], abs=1e-4)


def naive_weights(rows: Array, point: Array, others: list[int], k: int) -> tuple[list[int], Array]:
    near = sorted(others, key=lambda j: float(np.linalg.norm(rows[j] - point)))[:k]
    return near, np.asarray(lsq_linear(rows[near].T, point, (0, np.inf), tol=1e-14).x)


def twin(x: Tensor, candidates: Tensor, test: Tensor, k: int) -> tuple[list[int], Array]:
    """Pseudo labels and squared errors of IPAL with 30 rounds and alpha = .8, in loops."""
    rows, mask = x.double().numpy(), candidates.double().numpy()
    everybody = list(range(len(rows)))
    start = mask / mask.sum(1, keepdims=True)
    graph = np.zeros((len(rows), len(rows)))
    for i, point in enumerate(rows):
        near, weights = naive_weights(rows, point, [j for j in everybody if j != i], k)
        graph[i, near] = weights / weights.sum()
    confidence = start
    for _ in range(30):
        confidence = (0.8 * graph @ confidence + 0.2 * start) * mask
        confidence = confidence / confidence.sum(1, keepdims=True)
    labels = (confidence * start.sum(0) / confidence.sum(0)).argmax(1)
    errors = np.full((len(test), mask.shape[1]), np.inf)
    for i, point in enumerate(test.double().numpy()):
        near, weights = naive_weights(rows, point, everybody, k)
        for label in set(labels[near]):
            part = sum(
                w * rows[j] for w, j in zip(weights, near, strict=True) if labels[j] == label
            )
            errors[i, label] = np.square(point - part).sum()
    return labels.tolist(), errors


def test_twin() -> None:
    # Rows in a cone, so that every row has neighbours with weights above 0.
    rows, x, candidates = (
        1 + normal(24, 6).abs(),
        1 + normal(7, 6, seed=1).abs(),
        random_candidates(),
    )
    settings = {"num_neighbours": 4, "alpha": 0.8, "num_iterations": 30}
    method, pseudo = fitted(IPAL, rows, candidates, **settings)
    labels, errors = twin(rows, candidates, x, 4)
    assert pseudo is not None
    assert pseudo.tolist() == method.pseudo.tolist() == labels
    assert labels != candidates.long().argmax(1).tolist()
    np.testing.assert_allclose(method.predict(x), -errors, rtol=1e-4, atol=1e-5)


def test_images_are_taken_as_rows() -> None:
    x, candidates = 1 + normal(24, 3, 2, 2).abs(), random_candidates()
    image, _ = fitted(IPAL, x, candidates)
    flat, _ = fitted(IPAL, x.flatten(1), candidates)
    assert torch.equal(image.predict(x[:5]), flat.predict(x[:5].flatten(1)))
