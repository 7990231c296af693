"""The trainer that dttrain is measured against: the same model in PyTorch's Python, one rank of one variant.

usage: peer.py CASE.json RANK VARIANT     VARIANT: eager, or a mode of torch.compile

Reads one line of JSON after the other: {"steps": N} trains N steps from the initial weights and answers
with the seconds, the processor seconds and the loss of each. Written as one would write it for speed: fused
AdamW, fused attention, gradients as views into DDP's buckets, and nothing that waits for a value inside the
loop.
"""

import json
import math
import mmap
import os
import sys
import time

case = json.loads(open(sys.argv[1], encoding="utf-8").read())
rank, variant = int(sys.argv[2]), sys.argv[3]
os.sched_setaffinity(0, case["cores"][rank])

import torch  # noqa: E402  after the cores are chosen: its threads inherit them
import torch.distributed  # noqa: E402
import torch.nn.functional as F  # noqa: E402

torch.set_num_threads(case["threads"])


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
    """llm.c's shard: 256 int32 of header, then uint16."""
    with open(path, "rb") as file:
        ids = torch.frombuffer(bytearray(file.read()[1024:]), dtype=torch.uint16)
    return ids.to(torch.int64)


class Transformer(torch.nn.Module):
    """Both models of the bench: pre-norm GPT-2, and tiny_transformer with post-norm, sines and ReLU."""

    def __init__(self, weights: dict[str, torch.Tensor], model: dict):
        super().__init__()
        self.layers, self.heads, self.pre_norm = model["n_layer"], model["n_head"], model["norm"] == "pre"
        self.width = weights["wte.weight"].shape[1]
        for name, tensor in weights.items():
            self.register_parameter(name.replace(".", "_"), torch.nn.Parameter(tensor.clone()))
        if model["positions"] == "sinusoidal":
            rate = torch.exp(torch.arange(0, self.width, 2) * (-math.log(10000.0) / self.width))
            angle = torch.arange(model["n_positions"]).unsqueeze(1) * rate
            self.register_buffer("sines", torch.stack((angle.sin(), angle.cos()), 2).flatten(1)[:, : self.width])

    def linear(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, getattr(self, name + "_weight"), getattr(self, name + "_bias", None))

    def normed(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (self.width,), getattr(self, name + "_weight"), getattr(self, name + "_bias", None))

    def attention(self, h: str, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.linear(h + "attn_c_attn", x).split(width, 2)
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.linear(h + "attn_c_proj", mixed.transpose(1, 2).reshape(batch, length, width))

    def feed_forward(self, h: str, x: torch.Tensor) -> torch.Tensor:
        wide = self.linear(h + "mlp_c_fc", x)
        wide = F.gelu(wide, approximate="tanh") if self.pre_norm else F.relu(wide)
        return self.linear(h + "mlp_c_proj", wide)

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        length = tokens.shape[1]
        x = F.embedding(tokens, self.wte_weight)
        x = x + self.wpe_weight[:length] if self.pre_norm else x * math.sqrt(self.width) + self.sines[:length]
        for layer in range(self.layers):
            h = f"h_{layer}_"
            if self.pre_norm:
                x = x + self.attention(h, self.normed(h + "ln_1", x))
                x = x + self.feed_forward(h, self.normed(h + "ln_2", x))
            else:
                x = self.normed(h + "ln_1", x + self.attention(h, x))
                x = self.normed(h + "ln_2", x + self.feed_forward(h, x))
        if self.pre_norm:
            logits = F.linear(self.normed("ln_f", x), self.wte_weight)
        else:
            logits = self.linear("lm_head", x)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Trainer:
    def __init__(self):
        weights = read_weights(case["weights"])
        self.tokens = read_tokens(case["shard"])
        module = Transformer(weights, case["model"])
        self.initial = [p.detach().clone() for p in module.parameters()]
        self.parameters = list(module.parameters())
        if case["ranks"] > 1:
            torch.distributed.init_process_group(
                "gloo", init_method="file://" + case["meeting"] + variant, rank=rank, world_size=case["ranks"]
            )
            module = torch.nn.parallel.DistributedDataParallel(module, gradient_as_bucket_view=True)
        self.loss = module if variant == "eager" else torch.compile(module, mode=variant, dynamic=False)
        groups = [
            {"params": [p for p in self.parameters if p.dim() >= 2], "weight_decay": 0.1},
            {"params": [p for p in self.parameters if p.dim() < 2], "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(groups, lr=case["lr"], betas=(0.9, 0.95), eps=1e-8, fused=True)

    def batch(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        batch, length = case["batch"], case["length"]
        first = (step * case["ranks"] + rank) * batch * length
        inputs = self.tokens[first : first + batch * length].view(batch, length)
        targets = self.tokens[first + 1 : first + 1 + batch * length].view(batch, length)
        return inputs, targets

    def step(self, number: int) -> torch.Tensor:
        inputs, targets = self.batch(number)
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(inputs, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        return loss.detach()

    def restart(self) -> None:
        with torch.no_grad():
            torch._foreach_copy_(self.parameters, self.initial)
            for state in self.optimizer.state.values():
                for tensor in state.values():
                    tensor.zero_()

    def train(self, steps: int) -> dict[str, list[float]]:
        self.restart()
        losses, clocks = [], [(time.perf_counter(), time.process_time())]
        for number in range(steps):
            losses.append(self.step(number))
            clocks.append((time.perf_counter(), time.process_time()))
        spans = [(after[0] - before[0], after[1] - before[1]) for before, after in zip(clocks, clocks[1:])]
        return {"seconds": [span[0] for span in spans], "processor": [span[1] for span in spans],
                "losses": [loss.item() for loss in losses]}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer
    before = time.perf_counter()
    trainer = Trainer()
    trainer.train(2)  # compiles
    print(json.dumps({"ready": time.perf_counter() - before}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(trainer.train(json.loads(line)["steps"])), file=answers, flush=True)


main()
