"""PyTorch's own versions of dttrain's strategies: one rank of one of them, for parallel_bench.

usage: parallel_peer.py CASE.json RANK VARIANT     VARIANT: of STRATEGIES

Model, tokens, loop and requests are those of bench/training/peer.py. The answer to {"steps": N} also has, for each
step: the bytes of tensors after it and at its peak, by dttrain's own count; and the seconds that the rank waited
for others: in Python for works of the process group, and within DDP, from its logger, between the end of the
backward pass's computation and that of its communication.
"""

import ctypes
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "training"))
import peer  # noqa: E402  it reads the arguments and chooses the cores before torch makes threads

import torch  # noqa: E402
import torch.distributed  # noqa: E402
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.tensor import Replicate, Shard  # noqa: E402
from torch.distributed.tensor.parallel import (  # noqa: E402
    ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel, loss_parallel, parallelize_module)
from torch.distributed.fsdp import fully_shard  # noqa: E402
from torch.distributed.optim import ZeroRedundancyOptimizer  # noqa: E402
from torch.distributed.pipelining import PipelineStage, Schedule1F1B  # noqa: E402

case = peer.case
counts = ctypes.CDLL(case["tensor_count"])
for name in ("held_bytes", "peak_bytes"):
    getattr(counts, name).restype = ctypes.c_uint64


class Waits:
    """Counts the seconds spent waiting for works of the process group."""

    def __init__(self):
        self.seconds = 0.0
        wait = torch.distributed.Work.wait

        def timed(work, *arguments):
            begin = time.perf_counter()
            try:
                return wait(work, *arguments)
            finally:
                self.seconds += time.perf_counter() - begin

        torch.distributed.Work.wait = timed


class Sharing(peer.Trainer):
    """A trainer that also reports the cost of sharing."""

    def __init__(self):
        counts.count_tensors()
        self.waits = Waits()
        super().__init__()
        # Bytes of the bench, not of training.
        self.own_bytes = sum(p.nbytes for p in self.initial) + self.tokens.nbytes

    def compiled(self, module: torch.nn.Module) -> torch.nn.Module:
        return module

    def waited(self) -> float:
        """Returns seconds of the last step that Python does not see; NaN if nothing measures them."""
        return 0.0

    def step(self, number: int) -> torch.Tensor:
        before = self.waits.seconds
        counts.restart_peak()
        loss = super().step(number)
        self.note(before)
        return loss

    def note(self, before: float) -> None:
        self.told["exposed"].append(self.waits.seconds - before + self.waited())
        self.told["held"].append(counts.held_bytes() - self.own_bytes)
        self.told["peak"].append(counts.peak_bytes() - self.own_bytes)

    def train(self, steps: int) -> dict:
        self.told: dict[str, list[float]] = {"exposed": [], "held": [], "peak": []}
        return {**super().train(steps), **self.told}


class Ddp(Sharing):
    def shared(self, module: torch.nn.Module, bucket_mb: int | None = None) -> torch.nn.Module:
        self.ddp = super().shared(module, bucket_mb)
        self.ddp._set_ddp_runtime_logging_sample_rate(1)
        return self.ddp

    def waited(self) -> float:
        said = self.ddp._get_ddp_logging_data()
        # Absent after the first step.
        communication, overlap = (int(said.get(each, 0)) for each in ("backward_comm_time",
                                                                      "backward_compute_comm_overlap_time"))
        return max(0, communication - overlap) / 1e9


class Bf16Wire(Ddp):
    def shared(self, module: torch.nn.Module, bucket_mb: int | None = None) -> torch.nn.Module:
        super().shared(module)
        self.ddp.register_comm_hook(None, default_hooks.bf16_compress_hook)
        return self.ddp


class PowerSgd(Ddp):
    @staticmethod
    def fresh() -> powerSGD_hook.PowerSGDState:
        # PyTorch cannot start it before the third step.
        return powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=case["rank"], start_powerSGD_iter=2)

    def shared(self, module: torch.nn.Module, bucket_mb: int | None = None) -> torch.nn.Module:
        # Use one bucket: the hook starts a bucket's later messages in callbacks. With several buckets these come in
        # another order on each rank, and Gloo then finds lengths that do not match.
        super().shared(module, bucket_mb=1 << 12)
        self.state = self.fresh()
        self.ddp.register_comm_hook(self.state, powerSGD_hook.powerSGD_hook)
        return self.ddp

    def restart(self) -> None:
        super().restart()
        fresh = self.fresh()
        for slot in ("iter", "error_dict", "p_memory_dict", "q_memory_dict", "rng"):
            setattr(self.state, slot, getattr(fresh, slot))


class Zero1(Ddp):
    def made_optimizer(self, groups: list[dict]) -> torch.optim.Optimizer:
        return ZeroRedundancyOptimizer(groups, torch.optim.AdamW, lr=case["lr"], **peer.ADAMW)

    def moments(self) -> list[dict[str, torch.Tensor]]:
        return list(self.optimizer.optim.state.values())


class Fsdp(Sharing):
    keeps_parameters = False
    copies = 1

    def shared(self, module: torch.nn.Module, bucket_mb: int | None = None) -> torch.nn.Module:
        mesh = init_device_mesh("cpu", (case["ranks"],))
        if self.copies > 1:
            mesh = init_device_mesh("cpu", (self.copies, case["ranks"] // self.copies),
                                    mesh_dim_names=("replicate", "shard"))
        for block in module.blocks:
            fully_shard(block, mesh=mesh, reshard_after_forward=not self.keeps_parameters)
        return fully_shard(module, mesh=mesh, reshard_after_forward=False)


class FsdpThatKeeps(Fsdp):
    keeps_parameters = True


class FsdpOfCopies(Fsdp):
    copies = 2


class Stage(torch.nn.Module):
    """Some neighbouring blocks of a pre-norm model; the first stage also has the embedding, the last one the head."""

    def __init__(self, whole: peer.Transformer, first_block: int, blocks: int, stages: int):
        super().__init__()
        self.is_first, self.is_last = peer.rank == 0, peer.rank == stages - 1
        self.blocks = whole.blocks[first_block : first_block + blocks]
        if self.is_first or self.is_last:
            self.wte_weight = whole.wte_weight
        if self.is_first:
            self.wpe_weight = whole.wpe_weight
        if self.is_last:
            self.norm = peer.Part({name: getattr(whole, name).detach() for name in ("ln_f_weight", "ln_f_bias")})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.is_first:
            x = torch.nn.functional.embedding(x, self.wte_weight) + self.wpe_weight[: x.shape[1]]
        for block in self.blocks:
            x = block(x)
        if self.is_last:
            x = torch.nn.functional.linear(self.norm.normed("ln_f", x), self.wte_weight)
        return x


class Pipeline(Sharing):
    """torch.distributed.pipelining's 1F1B. A matrix that both ends have, and the norm over all stages, are handled
    here: PyTorch leaves them to the user."""

    def shared(self, module: torch.nn.Module, bucket_mb: int | None = None) -> torch.nn.Module:
        stages, blocks = case["ranks"], case["blocks"][peer.rank]
        self.stage = Stage(module, sum(case["blocks"][: peer.rank]), blocks, stages)
        self.ends = torch.distributed.new_group([0, stages - 1])
        part = PipelineStage(self.stage, peer.rank, stages, peer.device)
        self.schedule = Schedule1F1B(part, case["microbatches"], loss_fn=self.loss_of, scale_grads=False)
        return self.stage

    @staticmethod
    def loss_of(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return loss / case["microbatches"]

    def batch(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Runs a step: every stage trains on the same sequences."""
        sequences, length = case["batch"] * case["ranks"], case["length"]
        first = number * sequences * length
        return tuple(self.tokens[at : at + sequences * length].view(sequences, length) for at in (first, first + 1))

    def made_step(self, number: int) -> torch.Tensor:
        inputs, targets = self.batch(number)
        self.optimizer.zero_grad(set_to_none=True)
        losses: list[torch.Tensor] = []
        arguments = [inputs] if self.stage.is_first else []
        self.schedule.step(*arguments, **({"target": targets, "losses": losses} if self.stage.is_last else {}))
        if self.stage.is_first or self.stage.is_last:
            torch.distributed.all_reduce(self.stage.wte_weight.grad, group=self.ends)
        elsewhere = self.stage.wte_weight if self.stage.is_last else None
        counted = [p.grad for p in self.parameters if p is not elsewhere]
        numbers = torch.stack([sum(g.square().sum() for g in counted),
                               sum(loss.detach() for loss in losses) if losses else torch.zeros(())])
        torch.distributed.all_reduce(numbers)
        scale = torch.clamp(1.0 / (numbers[0].sqrt() + 1e-6), max=1.0)
        for parameter in self.parameters:
            parameter.grad.mul_(scale)
        self.optimizer.step()
        return numbers[1]

    def step(self, number: int) -> torch.Tensor:
        before = self.waits.seconds
        counts.restart_peak()
        loss = self.made_step(number)
        self.note(before)
        return loss


def filled(module: torch.nn.Module, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.nn.Module:
    with torch.no_grad():
        module.weight.copy_(weight)
        if bias is not None:
            module.bias.copy_(bias)
    return module


def linear(weight: torch.Tensor, bias: torch.Tensor) -> torch.nn.Linear:
    return filled(torch.nn.Linear(weight.shape[1], weight.shape[0]), weight, bias)


class CutAttention(torch.nn.Module):
    """Splits queries, keys and values, as parallelize_module needs them."""

    def __init__(self, block: peer.Block):
        super().__init__()
        self.head_width = block.attn_c_proj_weight.shape[0] // block.heads
        weights, biases = block.attn_c_attn_weight.chunk(3), block.attn_c_attn_bias.chunk(3)
        self.q, self.k, self.v = (linear(weight, bias) for weight, bias in zip(weights, biases))
        self.proj = linear(block.attn_c_proj_weight, block.attn_c_proj_bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length = x.shape[:2]
        q, k, v = (part(x).view(batch, length, -1, self.head_width).transpose(1, 2)
                   for part in (self.q, self.k, self.v))
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(mixed.transpose(1, 2).reshape(batch, length, -1))


class CutFeedForward(torch.nn.Module):
    def __init__(self, block: peer.Block):
        super().__init__()
        self.fc = linear(block.mlp_c_fc_weight, block.mlp_c_fc_bias)
        self.proj = linear(block.mlp_c_proj_weight, block.mlp_c_proj_bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.proj(torch.nn.functional.gelu(self.fc(x), approximate="tanh"))


def norm(part: peer.Part, name: str) -> torch.nn.LayerNorm:
    weight = getattr(part, name + "_weight")
    return filled(torch.nn.LayerNorm(weight.shape[0]), weight, getattr(part, name + "_bias"))


class CutBlock(torch.nn.Module):
    def __init__(self, block: peer.Block):
        super().__init__()
        self.ln_1, self.ln_2 = norm(block, "ln_1"), norm(block, "ln_2")
        self.attention, self.feed_forward = CutAttention(block), CutFeedForward(block)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.ln_1(x))
        return x + self.feed_forward(self.ln_2(x))


class CutTransformer(torch.nn.Module):
    def __init__(self, whole: peer.Transformer):
        super().__init__()
        vocabulary, width = whole.wte_weight.shape
        self.wte = filled(torch.nn.Embedding(vocabulary, width), whole.wte_weight)
        self.wpe = filled(torch.nn.Embedding(*whole.wpe_weight.shape), whole.wpe_weight)
        self.blocks = torch.nn.ModuleList(CutBlock(block) for block in whole.blocks)
        self.ln_f = norm(whole, "ln_f")
        self.head = torch.nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]).expand_as(tokens))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.ln_f(x))
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Tensor(Sharing):
    """DTensor by parallelize_module; sequences are cut between the layers, embedding and head by the vocabulary."""

    def shared(self, module: torch.nn.Module, bucket_mb: int | None = None) -> torch.nn.Module:
        mesh = init_device_mesh("cpu", (case["ranks"],))
        cut = CutTransformer(module)
        gathered = {"input_layouts": (Shard(1),), "desired_input_layouts": (Replicate(),)}
        for block in cut.blocks:
            parallelize_module(block, mesh, {
                "ln_1": SequenceParallel(), "ln_2": SequenceParallel(),
                "attention": PrepareModuleInput(**gathered), "feed_forward": PrepareModuleInput(**gathered),
                "attention.q": ColwiseParallel(), "attention.k": ColwiseParallel(), "attention.v": ColwiseParallel(),
                "attention.proj": RowwiseParallel(output_layouts=Shard(1)), "feed_forward.fc": ColwiseParallel(),
                "feed_forward.proj": RowwiseParallel(output_layouts=Shard(1))})
        parallelize_module(cut, mesh, {
            "wte": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
            "wpe": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
            "ln_f": SequenceParallel(),
            "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)})
        cut.head.weight = cut.wte.weight
        return cut

    def waited(self) -> float:
        return float("nan")  # DTensor waits within its operators

    def batch(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Runs a step: every rank trains on the same sequences, with as many micro-steps as ranks."""
        batch, length = case["batch"], case["length"]
        first = number * batch * length
        return tuple(self.tokens[at : at + batch * length].view(batch, length) for at in (first, first + 1))

    def step(self, number: int) -> torch.Tensor:
        before = self.waits.seconds
        counts.restart_peak()
        self.optimizer.zero_grad(set_to_none=True)
        total, parts = torch.zeros(()), case["ranks"]
        for part in range(parts):
            inputs, targets = self.batch(number * parts + part)
            with loss_parallel():
                loss = self.loss(inputs, targets) / parts
                loss.backward()
            total += loss.full_tensor().detach()
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        self.note(before)
        return total


STRATEGIES = {"ddp": Ddp, "bf16": Bf16Wire, "powersgd": PowerSgd, "zero1": Zero1, "zero2": FsdpThatKeeps,
              "zero3": Fsdp, "hsdp": FsdpOfCopies, "pipeline": Pipeline,
              "tensor": Tensor}

if __name__ == "__main__":
    peer.serve(STRATEGIES[peer.variant])
