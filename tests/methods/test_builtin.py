"""What holds for every built-in method: registration, views, numerics, and no waiting."""

import json
from collections.abc import Callable
from types import MethodType
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn

from pllbench.method import Batch, Hparams, Method, Network, Problem
from pllbench.registry import method_entries
from pllbench.spec import TrainSpec
from pllbench.testing.toy import toy_spec, toy_task, train_epoch
from pllbench.trainer import build
from pllbench_methods.shared.views import MultiViewMethod
from tests.methods.fakes import (
    BUILTIN,
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

SINGLETONS = torch.eye(5, dtype=torch.bool)[torch.arange(24) % 5]
LATE = 190
every_method = pytest.mark.parametrize("cls", BUILTIN, ids=lambda cls: cls.__name__)


def candidates_for(cls: type[Method[Any]]) -> Tensor:
    return SINGLETONS if cls.labels == "true" else random_candidates()


def gradients(method: Method[Any]) -> list[Tensor]:
    return [p.grad for p in method.parameters() if p.grad is not None]


def test_every_method_is_registered() -> None:
    registered = {entry.value for entry in method_entries().values()}
    expected = {f"{cls.__module__}:{cls.__name__}" for cls in BUILTIN}
    assert expected <= registered, "after a change of entry points run: pip install -e ."


@every_method
def test_every_hyperparameter_is_documented_and_survives_json(cls: type[Method[Any]]) -> None:
    hparams_type: type[Hparams] = cls.hparams_type
    for name, field in hparams_type.model_fields.items():
        assert field.description, name
        assert not field.is_required(), name
    hparams = hparams_type()
    assert hparams_type.parse(json.loads(hparams.model_dump_json())) == hparams


@every_method
def test_views(cls: type[Method[Any]]) -> None:
    candidates = candidates_for(cls)
    if issubclass(cls, MultiViewMethod):
        for num_strong in (0, 2):
            method = make(cls, random_problem(candidates), num_strong=num_strong)
            assert method.views == ("weak", *["strong"] * num_strong)
    else:
        views = make(cls, random_problem(candidates)).views
        assert views
        assert set(views) <= {"weak", "strong", "query", "key"}


@every_method
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


@every_method
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


@every_method
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


class NetworkWithoutAutocast(Network):
    """The meta device has no autocast."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = self.encoder(x)
        return self.classifier(features), features


@torch.library.impl("aten::_standard_gamma_grad", "Meta")
def gamma_gradient(concentration: Tensor, draw: Tensor) -> Tensor:
    """What torch computes on every device but this one: the shape of a gamma draw's gradient."""
    return torch.empty_like(concentration)


@pytest.mark.usefixtures("no_uploads")
@every_method
@pytest.mark.parametrize("epoch", [0, 20, LATE])
def test_no_step_waits_for_the_device(cls: type[Method[Any]], epoch: int) -> None:
    """On the meta device nothing has a value, so whatever would wait for one raises."""
    candidates = candidates_for(cls)
    problem = Problem(candidates, 200, lambda: NetworkWithoutAutocast(nn.Identity(), 6, 5), (6,))
    method = make(cls, problem).to("meta")
    method.epoch = epoch
    batch = moved(next(random_batches(method, candidates)), "meta")
    step = method.loss(batch)
    step.loss.backward()
    with torch.no_grad():
        method.after_step(batch)
    assert step.loss.device.type == "meta"


@every_method
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
    method = build(spec, cls, task)
    train_epoch(method, task, epoch=5)
    encoders = [m.encoder for m in method.modules() if isinstance(m, Network)]
    assert compiled == encoders
    assert used == set(encoders)


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@every_method
@pytest.mark.parametrize("epoch", [0, 20, LATE])
def test_no_step_waits_for_a_gpu(cls: type[Method[Any]], epoch: int) -> None:
    candidates = candidates_for(cls)
    method = make(cls, random_problem(candidates)).to("cuda")
    rows = random_instances(candidates)
    start_epoch(method, epoch, Instances(rows.x.to("cuda"), candidates.to("cuda")))
    batch = moved(next(random_batches(method, candidates)), "cuda")
    optimizer = sgd(method)

    def step() -> Tensor:
        loss = method.loss(batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            method.after_step(batch)
        return loss

    step()  # libraries may wait when they are first used
    torch.cuda.set_sync_debug_mode("error")
    try:
        loss = step()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert loss.isfinite()
