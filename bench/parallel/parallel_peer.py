"""What PyTorch itself has of dttrain's strategies: one rank of one of them, for parallel_bench.

usage: parallel_peer.py CASE.json RANK VARIANT     VARIANT: of STRATEGIES

Model, tokens, loop and questions are those of bench/training/peer.py. To {"steps": N} it answers besides, for each
step: the bytes of tensors after it and at its peak, by dttrain's own count; and the seconds that the rank waited
for others: in Python for works of the process group, and within DDP, as its logger has it, from the end of the
backward pass's computation to that of its communication.
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
from torch.distributed.fsdp import fully_shard  # noqa: E402
from torch.distributed.optim import ZeroRedundancyOptimizer  # noqa: E402
from torch.distributed.pipelining import PipelineStage, Schedule1F1B  # noqa: E402

case = peer.case
counts = ctypes.CDLL(case["tensor_count"])
for name in ("held_bytes", "peak_bytes"):
    getattr(counts, name).restype = ctypes.c_uint64


class Waits:
    """Seconds in waits for works of the process group, so far."""

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
    """A trainer that says what sharing takes."""

    def __init__(self):
        counts.count_tensors()
        self.waits = Waits()
        super().__init__()
        # Of the bench, not of training.
        self.own_bytes = sum(p.nbytes for p in self.initial) + self.tokens.nbytes

    def compiled(self, module: torch.nn.Module) -> torch.nn.Module:
        return module

    def waited(self) -> float:
        """Seconds in the step before, of which Python does not know."""
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
        # Not there after the first step.
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
        # It takes no earlier start than the third step.
        return powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=case["rank"], start_powerSGD_iter=2)

    def shared(self, module: torch.nn.Module, bucket_mb: int | None = None) -> torch.nn.Module:
        # One bucket: the hook begins a bucket's later messages in callbacks, which with several come in another order
        # on each rank, and Gloo then finds lengths that do not match.
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
    """Some neighbouring blocks of a pre-norm model; of the first stage the embedding too, of the last one the head."""

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
    """torch.distributed.pipelining's 1F1B. A matrix that both ends have, and the norm of all stages, are done here:
    PyTorch leaves them to the person."""

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
        """All of a step: every stage trains on the same sequences."""
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


STRATEGIES = {"ddp": Ddp, "bf16": Bf16Wire, "powersgd": PowerSgd, "zero1": Zero1, "zero2": FsdpThatKeeps,
              "zero3": Fsdp, "hsdp": FsdpOfCopies, "pipeline": Pipeline}

if __name__ == "__main__":
    peer.serve(STRATEGIES[peer.variant])
