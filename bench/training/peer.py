"""The trainer that dttrain is compared with: the same model in PyTorch's Python, one rank of one variant.

usage: peer.py CASE.json RANK VARIANT     VARIANT: eager, a mode of torch.compile, or bf16-parameters

Reads one line of JSON after another. {"steps": N} trains N steps from the initial weights; the answer has the
seconds, the processor seconds and the loss of each, and the peak of memory. The answer to {"kernels": true} has the
names of the kernels of attention. Written for speed: fused AdamW, fused attention, gradients as views into DDP's
buckets, TF32 where fp32 remains on a GPU, uploads from pinned memory, and no wait for a value inside the loop.
bf16-parameters is eager with parameters and moments in bf16 instead of autocast.
"""

import contextlib
import json
import math
import mmap
import os
import resource
import sys
import time
import traceback

begin = time.monotonic()
case = json.loads(open(sys.argv[1], encoding="utf-8").read())
rank, variant = int(sys.argv[2]), sys.argv[3]
os.sched_setaffinity(0, case["cores"][rank])

import torch  # noqa: E402  after the cores are chosen: its threads inherit them
import torch.distributed  # noqa: E402
import torch.nn.functional as F  # noqa: E402

torch.set_num_threads(case["threads"])
device = torch.device(case["device"])
if device.type == "cuda":
    torch.set_float32_matmul_precision("high")
PARAMETERS16 = "bf16-parameters"
ATTENTION_WORDS = ("attention", "flash", "fmha", "sdpa", "mha")
ADAMW = {"betas": (0.9, 0.95), "eps": 1e-8, "fused": True}


def read_weights(path: str) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file of fp32 values."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            values = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32)
            tensors[name] = values.view(entry["shape"])
    return tensors


def read_tokens(path: str) -> torch.Tensor:
    """Reads llm.c's shard: 256 int32 of header, then uint16."""
    with open(path, "rb") as file:
        ids = torch.frombuffer(bytearray(file.read()[1024:]), dtype=torch.uint16)
    return ids.to(torch.int64)


def local(tensor: torch.Tensor) -> torch.Tensor:
    """Returns this rank's part of a tensor, to be written to."""
    held = tensor.detach()
    return held.to_local() if hasattr(held, "to_local") else held


class Part(torch.nn.Module):
    """Returns parameters by dttrain's names for them, in which _ stands for each dot."""

    def __init__(self, weights: dict[str, torch.Tensor]):
        super().__init__()
        for name, tensor in weights.items():
            self.register_parameter(name.replace(".", "_"), torch.nn.Parameter(tensor.clone()))

    def linear(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, getattr(self, name + "_weight"), getattr(self, name + "_bias", None))

    def normed(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, x.shape[-1:], getattr(self, name + "_weight"), getattr(self, name + "_bias", None))


class Block(Part):
    def __init__(self, weights: dict[str, torch.Tensor], model: dict):
        super().__init__(weights)
        self.heads, self.pre_norm = model["n_head"], model["norm"] == "pre"

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.linear("attn_c_attn", x).split(width, 2)
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.linear("attn_c_proj", mixed.transpose(1, 2).reshape(batch, length, width))

    def feed_forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = self.linear("mlp_c_fc", x)
        wide = F.gelu(wide, approximate="tanh") if self.pre_norm else F.relu(wide)
        return self.linear("mlp_c_proj", wide)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.pre_norm:
            x = x + self.attention(self.normed("ln_1", x))
            return x + self.feed_forward(self.normed("ln_2", x))
        x = self.normed("ln_1", x + self.attention(x))
        return self.normed("ln_2", x + self.feed_forward(x))


class Transformer(Part):
    """The bench's two models: pre-norm GPT-2, and tiny_transformer with post-norm, sines and ReLU."""

    def __init__(self, weights: dict[str, torch.Tensor], model: dict):
        super().__init__({name: tensor for name, tensor in weights.items() if not name.startswith("h.")})
        self.pre_norm = model["norm"] == "pre"
        self.width = weights["wte.weight"].shape[1]
        self.blocks = torch.nn.ModuleList()
        for layer in range(model["n_layer"]):
            of = f"h.{layer}."
            mine = {name.removeprefix(of): tensor for name, tensor in weights.items() if name.startswith(of)}
            self.blocks.append(Block(mine, model))
        if model["positions"] == "sinusoidal":
            rate = torch.exp(torch.arange(0, self.width, 2) * (-math.log(10000.0) / self.width))
            angle = torch.arange(model["n_positions"]).unsqueeze(1) * rate
            self.register_buffer("sines", torch.stack((angle.sin(), angle.cos()), 2).flatten(1)[:, : self.width])

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        length = tokens.shape[1]
        x = F.embedding(tokens, self.wte_weight)
        x = x + self.wpe_weight[:length] if self.pre_norm else x * math.sqrt(self.width) + self.sines[:length]
        for block in self.blocks:
            x = block(x)
        if self.pre_norm:
            logits = F.linear(self.normed("ln_f", x), self.wte_weight)
        else:
            logits = self.linear("lm_head", x)
        if variant == PARAMETERS16:
            logits = logits.float()
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Trainer:
    def __init__(self):
        self.tokens = read_tokens(case["shard"])
        if device.type == "cuda":
            self.tokens = self.tokens.pin_memory()
        module = Transformer(read_weights(case["weights"]), case["model"]).to(device)
        if variant == PARAMETERS16:
            module = module.to(torch.bfloat16)
        self.casts = case["precision"] == "bf16" and variant != PARAMETERS16
        if case["ranks"] > 1:
            module = self.shared(module)
        self.parameters = list(module.parameters())
        self.loss = self.compiled(module)
        self.optimizer = self.made_optimizer([
            {"params": [p for p in self.parameters if p.dim() >= 2], "weight_decay": 0.1},
            {"params": [p for p in self.parameters if p.dim() < 2], "weight_decay": 0.0},
        ])
        # After the optimizer is made, since that may move them.
        self.initial = [local(p).clone() for p in self.parameters]

    def shared(self, module: torch.nn.Module, bucket_mb: int | None = None) -> torch.nn.Module:
        """Wraps the model for training by several ranks; without a size of buckets, in DDP's own."""
        return torch.nn.parallel.DistributedDataParallel(module, gradient_as_bucket_view=True, bucket_cap_mb=bucket_mb)

    def compiled(self, module: torch.nn.Module) -> torch.nn.Module:
        if variant in ("eager", PARAMETERS16):
            return module
        if variant.startswith("max-autotune"):
            from torch._inductor import config  # late: it takes seconds

            config.coordinate_descent_tuning = True
        return torch.compile(module, mode=variant, dynamic=False)

    def made_optimizer(self, groups: list[dict]) -> torch.optim.Optimizer:
        return torch.optim.AdamW(groups, lr=case["lr"], **ADAMW)

    def moments(self) -> list[dict[str, torch.Tensor]]:
        """Returns the optimizer's state of each parameter."""
        return list(self.optimizer.state.values())

    def batch(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the tokens of the `number`th micro-step of all."""
        batch, length = case["batch"], case["length"]
        first = (number * case["ranks"] + rank) * batch * length
        inputs = self.tokens[first : first + batch * length].view(batch, length)
        targets = self.tokens[first + 1 : first + 1 + batch * length].view(batch, length)
        return inputs.to(device, non_blocking=True), targets.to(device, non_blocking=True)

    def step(self, number: int) -> torch.Tensor:
        parts = case["accumulate"]
        if variant == "max-autotune":
            torch.compiler.cudagraph_mark_step_begin()
        self.optimizer.zero_grad(set_to_none=True)
        total = None
        for part in range(parts):
            inputs, targets = self.batch(number * parts + part)
            casts = torch.autocast(device.type, torch.bfloat16) if self.casts else contextlib.nullcontext()
            with casts:
                loss = self.loss(inputs, targets)
            if parts > 1:
                loss = loss / parts
            loss.backward()
            # A copy, because with CUDA graphs the next step overwrites it.
            total = loss.detach().clone() if total is None else total + loss.detach()
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        if warm_up := case.get("warmup_steps", 0):
            for group in self.optimizer.param_groups:
                group["lr"] = case["lr"] * min(1.0, (number + 1) / warm_up)
        self.optimizer.step()
        return total

    def restart(self) -> None:
        with torch.no_grad():
            torch._foreach_copy_([local(p) for p in self.parameters], self.initial)
            for state in self.moments():
                for tensor in state.values():
                    local(tensor).zero_()

    def train(self, steps: int) -> dict:
        self.restart()
        clock = GpuClock() if device.type == "cuda" else Clock()
        losses = []
        clock.tick()
        for number in range(steps):
            losses.append(self.step(number))
            clock.tick()
        return {"seconds": clock.seconds(), "processor": clock.processor(), "memory": clock.peak_bytes(),
                "losses": [loss.item() for loss in losses]}

    def free(self) -> None:
        """Frees memory for the other variants."""
        self.optimizer.zero_grad(set_to_none=True)
        if device.type == "cuda":
            torch.cuda.empty_cache()

    def attention_kernels(self) -> list[str]:
        """Returns the kernels of one step: those of a GPU, or a CPU's operators."""
        activities = [torch.profiler.ProfilerActivity.CPU]
        if device.type == "cuda":
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        with torch.profiler.profile(activities=activities) as profile:
            self.step(0)
            if device.type == "cuda":
                torch.cuda.synchronize()
        wanted = torch.autograd.DeviceType.CUDA if device.type == "cuda" else torch.autograd.DeviceType.CPU
        names = {event.name for event in profile.events() if event.device_type == wanted}
        return sorted(name for name in names if any(word in name.lower() for word in ATTENTION_WORDS))


class Clock:
    """The clock of a CPU run."""

    def __init__(self):
        self.moments, self.spent = [], []

    def tick(self) -> None:
        self.moments.append(time.perf_counter())
        self.spent.append(time.process_time())

    def seconds(self) -> list[float]:
        return [after - before for before, after in zip(self.moments, self.moments[1:])]

    def processor(self) -> list[float]:
        return [after - before for before, after in zip(self.spent, self.spent[1:])]

    def peak_bytes(self) -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class GpuClock(Clock):
    """Events in the stream: no wait before the last step."""

    def __init__(self):
        super().__init__()
        self.events = []
        torch.cuda.reset_peak_memory_stats()

    def tick(self) -> None:
        super().tick()
        self.events.append(torch.cuda.Event(enable_timing=True))
        self.events[-1].record()

    def seconds(self) -> list[float]:
        torch.cuda.synchronize()
        return [before.elapsed_time(after) / 1e3 for before, after in zip(self.events, self.events[1:])]

    def peak_bytes(self) -> int:
        return torch.cuda.max_memory_reserved()


def attempt(work) -> dict:
    """Returns the answer of `work`, or the reason of its failure: a shape may be too large for one variant only."""
    try:
        return work()
    except torch.OutOfMemoryError:
        return {"failed": "out of memory"}
    except Exception as error:  # the compiler raises errors of many kinds
        print(traceback.format_exc(), file=sys.stderr, flush=True)
        return {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:200]}


def serve(make_trainer) -> None:
    """Answers the requests on stdin."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries is not an answer
    if case["ranks"] > 1:
        torch.distributed.init_process_group(
            "gloo", init_method="file://" + case["meeting"] + variant, rank=rank, world_size=case["ranks"]
        )
    trainer = None

    def start() -> dict:
        nonlocal trainer
        trainer = make_trainer()
        trainer.train(1)
        told = {"ready": time.monotonic() - begin}
        trainer.train(2)  # compiles parts that only a second step needs
        return told

    def answer(told: dict) -> None:
        if trainer is not None:
            trainer.free()
        print(json.dumps(told), file=answers, flush=True)

    answer(attempt(start))
    for line in sys.stdin:
        asked = json.loads(line)
        if "kernels" in asked:
            answer(attempt(lambda: {"kernels": trainer.attention_kernels()}))
        else:
            answer(attempt(lambda: trainer.train(asked["steps"])))


if __name__ == "__main__":
    serve(Trainer)
