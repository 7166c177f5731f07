"""What holds for every built-in method: registration, views, finite numbers, no synchronisation."""

import json
from collections.abc import Callable
from types import MethodType
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn

from pllbench.method import Batch, Hparams, Method, Network, Problem
from pllbench.spec import TrainSpec
from pllbench.testing.support import toy_spec, toy_task, train_epoch
from pllbench.training.evaluation import evaluate
from pllbench.training.sgd import SGD
from pllbench.training.step import take_gradient, take_step
from pllbench.training.trainer import build_method
from pllbench_methods.shared.views import MultiViewMethod
from tests.methods.fakes import (
    BUILTIN,
    TRAINED,
    Instances,
    lookup_problem,
    make,
    random_batches,
    random_candidates,
    random_instances,
    random_problem,
    sgd,
    start_epoch,
)

LATE = 190
"""An epoch at which every schedule has ended."""

every_method = pytest.mark.parametrize("cls", BUILTIN, ids=lambda cls: cls.__name__)
every_trained = pytest.mark.parametrize("cls", TRAINED, ids=lambda cls: cls.__name__)


def candidates_for(cls: type[Method[Any]]) -> Tensor:
    """Candidate sets [24, 5]; a reference that learns from true labels gets one candidate a row."""
    if cls.labels == "true":
        return torch.eye(5, dtype=torch.bool)[torch.arange(24) % 5]
    return random_candidates()


def gradients(method: Method[Any]) -> list[Tensor]:
    return [p.grad for p in method.parameters() if p.grad is not None]


@every_method
def test_every_hyperparameter_is_documented_and_survives_json(cls: type[Method[Any]]) -> None:
    hparams_type: type[Hparams] = cls.hparams_type
    for name, field in hparams_type.model_fields.items():
        assert field.description, name
        assert not field.is_required(), name
    hparams = hparams_type()
    assert hparams_type.parse(json.loads(hparams.model_dump_json())) == hparams


@pytest.mark.parametrize("cls", [cls for cls in BUILTIN if issubclass(cls, MultiViewMethod)])
@pytest.mark.parametrize("num_strong", [0, 2])
def test_multi_view_methods_have_a_weak_view_and_strong_ones(
    cls: type[MultiViewMethod[Any]], num_strong: int
) -> None:
    method = make(cls, random_problem(candidates_for(cls)), num_strong=num_strong)
    assert method.views == ("weak", *["strong"] * num_strong)


@every_trained
@pytest.mark.parametrize("epoch", [0, 20, LATE])
def test_logits_of_200_leave_loss_and_gradients_finite(cls: type[Method[Any]], epoch: int) -> None:
    candidates = candidates_for(cls)[:6]
    num_views = len(make(cls, random_problem(candidates)).views)
    signs = torch.randint(-1, 2, (num_views, 6, 5), generator=torch.Generator().manual_seed(0))
    logits = 200.0 * signs
    problem, batch = lookup_problem(candidates, logits, logits.flip(-1))
    fields = cls.hparams_type.model_fields
    options = {"tau": 1.0, "balance": 1.0}  # no temperature, and rows to learn from
    method = make(cls, problem, **{key: options[key] for key in options.keys() & fields.keys()})
    start_epoch(method, epoch, Instances(batch.x[0], candidates))
    for _ in range(2):  # the second step learns from what the first has stored
        loss = method.loss(batch).loss
        loss.backward()
        assert loss.isfinite()
    assert all(gradient.isfinite().all() for gradient in gradients(method))
    assert any(gradient.abs().sum() > 0 for gradient in gradients(method))
    assert all(value.isfinite().all() for value in method.state_dict().values())


@every_trained
@pytest.mark.parametrize("epoch", [0, LATE])
def test_bfloat16_networks_agree_with_float32(cls: type[Method[Any]], epoch: int) -> None:
    candidates = candidates_for(cls)
    losses = []
    for bf16 in (False, True):
        torch.manual_seed(0)  # PiCO's head and queue
        method = make(cls, random_problem(candidates, bf16=bf16))
        start_epoch(method, epoch, random_instances(candidates))
        loss = method.loss(next(random_batches(method, candidates))).loss
        loss.backward()
        assert loss.dtype == torch.float32
        assert all(gradient.isfinite().all() for gradient in gradients(method))
        losses.append(loss.item())
    assert losses[1] == pytest.approx(losses[0], rel=1e-2)
    assert losses[1] != losses[0]


@every_trained
def test_pseudo_labels_are_candidates(cls: type[Method[Any]]) -> None:
    candidates = candidates_for(cls)
    method = make(cls, random_problem(candidates))
    start_epoch(method, LATE, random_instances(candidates))
    for batch in random_batches(method, candidates, batch_size=7):  # the last batch is short
        pseudo = method.loss(batch).pseudo
        if cls.labels == "true":
            assert pseudo is None
        else:
            assert pseudo is not None
            assert pseudo.dtype == torch.int64
            inside = batch.candidates.gather(1, pseudo[:, None]).all()
            assert inside or cls.noisy_candidates


def moved(batch: Batch, device: str) -> Batch:
    x = tuple(view.to(device) for view in batch.x)
    return Batch(x, batch.index.to(device), batch.candidates.to(device))


@torch.library.impl("aten::_standard_gamma_grad", "Meta")
def gamma_gradient(concentration: Tensor, draw: Tensor) -> Tensor:
    """What torch computes on every device but this one: the shape of a gamma draw's gradient."""
    return torch.empty_like(concentration)


@pytest.mark.usefixtures("no_uploads")
@every_trained
@pytest.mark.parametrize("epoch", [0, 20, LATE])
def test_no_step_waits_for_the_device(cls: type[Method[Any]], epoch: int) -> None:
    """On the meta device nothing has a value, so whatever would wait for one raises."""
    candidates = candidates_for(cls)
    problem = Problem(candidates, 200, lambda: Network(nn.Identity(), 6, 5), (6,))
    method = make(cls, problem).to("meta")
    method.epoch = epoch
    batch = moved(next(random_batches(method, candidates)), "meta")
    step = take_gradient(method.loss, batch, SGD(method.parameters(), 0.1))
    with torch.no_grad():
        method.after_step(batch)
    assert step.loss.device.type == "meta"


@every_trained
def test_all_encoders_are_compiled_and_nothing_else(
    cls: type[Method[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[nn.Module] = []
    used: set[nn.Module] = set()

    def fake_compile(function: MethodType) -> Callable[[Tensor], Tensor]:
        module = cast("nn.Module", function.__self__)
        compiled.append(module)

        def call(x: Tensor) -> Tensor:
            used.add(module)
            return cast("Tensor", function(x))

        return call

    monkeypatch.setattr(torch, "compile", fake_compile)
    task, spec = toy_task(32, cls.labels), toy_spec(cls)
    spec = spec.model_copy(update={"train": TrainSpec(network="mlp", epochs=6, compile=True)})
    method = build_method(spec, cls, task)
    train_epoch(method, task, epoch=5)
    encoders = [m.encoder for m in method.modules() if isinstance(m, Network)]
    assert compiled == encoders
    assert used == set(encoders)


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@every_trained
@pytest.mark.parametrize("epoch", [0, 20, LATE])
def test_no_step_waits_for_a_gpu(cls: type[Method[Any]], epoch: int) -> None:
    candidates = candidates_for(cls)
    method = make(cls, random_problem(candidates)).to("cuda")
    start_epoch(method, epoch, random_instances(candidates.to("cuda")))
    batch = moved(next(random_batches(method, candidates)), "cuda")
    optimizer = sgd(method)

    take_step(method, batch, optimizer)  # libraries may wait when they are first used
    torch.cuda.set_sync_debug_mode("error")
    try:
        loss = take_step(method, batch, optimizer).loss
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert loss.isfinite()


@every_trained
def test_evaluation_passes_each_network_once(cls: type[Method[Any]]) -> None:
    task, spec = toy_task(48, cls.labels), toy_spec(cls)
    method = build_method(spec, cls, task)
    passes: list[nn.Module] = []
    for network in method.modules():
        if isinstance(network, Network):
            network.register_forward_hook(lambda module, _i, _o: passes.append(module))
    evaluate(method, task)
    assert len(passes) == len(set(passes)) > 0
