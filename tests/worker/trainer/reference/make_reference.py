#!/usr/bin/env python3
"""Prints PyTorch's results for small models: losses and gradient norms of a few AdamW steps.

Run with PyTorch 2.11: make_reference.py > curves.inc, which ../model_test.cc includes. Nothing here uses the trainer's
code: layers are PyTorch's own modules, or written as in the papers. Parameters and tokens are formulas, so that no
random generator has to agree.
"""
import math

import torch
import torch.nn.functional as F

torch.set_num_threads(1)

VOCAB, PAD, WIDTH, HEADS, LAYERS, FF, LENGTH, BATCH = 61, 64, 24, 3, 2, 40, 16, 3
STEPS, CLIP = 100, 1.0


def fill(parameters):
    """Fills parameter k: element i is 0.1 · sin(0.7·i + k), plus 1 for the weights of norms."""
    for k, (name, p) in enumerate(parameters):
        i = torch.arange(p.numel(), dtype=torch.float64)
        values = 0.1 * torch.sin(0.7 * i + k)
        if "norm_weight" in name:
            values = values + 1
        p.data.copy_(values.view(p.shape).float())


def batch(step):
    i = torch.arange(BATCH * (LENGTH + 1)).view(BATCH, LENGTH + 1)
    ids = (i * i * 7 + i * 3 + step * 11) % VOCAB
    return ids[:, :-1], ids[:, 1:]


def sinusoid():
    table = torch.zeros(LENGTH, WIDTH)
    for position in range(LENGTH):
        for column in range(0, WIDTH, 2):
            angle = position / 10000 ** (column / WIDTH)
            table[position, column] = math.sin(angle)
            table[position, column + 1] = math.cos(angle)
    return table


class PreNorm(torch.nn.Module):
    """GPT-2: pre-norm, learned positions, tanh GELU, tied head, padded vocabulary."""

    def __init__(self):
        super().__init__()
        self.order = []

        def new(name, *shape):
            p = torch.nn.Parameter(torch.empty(*shape))
            self.register_parameter(name.replace(".", "_"), p)
            self.order.append((name, p))
            return p

        self.wte, self.wpe = new("wte", PAD, WIDTH), new("wpe", LENGTH, WIDTH)
        self.blocks = []
        for b in range(LAYERS):
            self.blocks.append([
                new(f"{b}.1.norm_weight", WIDTH), new(f"{b}.1.norm_bias", WIDTH),
                new(f"{b}.qkv.w", 3 * WIDTH, WIDTH), new(f"{b}.qkv.b", 3 * WIDTH),
                new(f"{b}.out.w", WIDTH, WIDTH), new(f"{b}.out.b", WIDTH),
                new(f"{b}.2.norm_weight", WIDTH), new(f"{b}.2.norm_bias", WIDTH),
                new(f"{b}.up.w", FF, WIDTH), new(f"{b}.up.b", FF),
                new(f"{b}.down.w", WIDTH, FF), new(f"{b}.down.b", WIDTH),
            ])
        self.final = [new("f.norm_weight", WIDTH), new("f.norm_bias", WIDTH)]

    def forward(self, ids):
        x = self.wte[ids] + self.wpe
        mask = torch.full((LENGTH, LENGTH), float("-inf")).triu(1)
        for n1w, n1b, qw, qb, ow, ob, n2w, n2b, uw, ub, dw, db in self.blocks:
            h = F.layer_norm(x, (WIDTH,), n1w, n1b)
            q, k, v = (h @ qw.T + qb).chunk(3, -1)
            split = lambda t: t.view(BATCH, LENGTH, HEADS, -1).transpose(1, 2)
            scores = split(q) @ split(k).transpose(2, 3) / math.sqrt(WIDTH // HEADS) + mask
            mixed = (scores.softmax(-1) @ split(v)).transpose(1, 2).reshape(BATCH, LENGTH, WIDTH)
            x = x + mixed @ ow.T + ob
            h = F.layer_norm(x, (WIDTH,), n2w, n2b)
            x = x + F.gelu(h @ uw.T + ub, approximate="tanh") @ dw.T + db
        return F.layer_norm(x, (WIDTH,), *self.final) @ self.wte.T


class PostNorm(torch.nn.Module):
    """tiny_transformer: torch.nn.TransformerEncoder, sinusoidal positions, untied head with bias."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCAB, WIDTH)
        layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, FF, dropout=0.0, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = torch.nn.Linear(WIDTH, VOCAB)
        self.order = [("wte", self.embedding.weight)]
        for l in self.encoder.layers:
            self.order += [
                ("norm_weight", l.norm1.weight), ("b", l.norm1.bias),
                ("w", l.self_attn.in_proj_weight), ("b", l.self_attn.in_proj_bias),
                ("w", l.self_attn.out_proj.weight), ("b", l.self_attn.out_proj.bias),
                ("norm_weight", l.norm2.weight), ("b", l.norm2.bias),
                ("w", l.linear1.weight), ("b", l.linear1.bias),
                ("w", l.linear2.weight), ("b", l.linear2.bias),
            ]
        self.order += [("w", self.head.weight), ("b", self.head.bias)]

    def forward(self, ids):
        x = self.embedding(ids) * math.sqrt(WIDTH) + sinusoid()
        mask = torch.nn.Transformer.generate_square_subsequent_mask(LENGTH)
        return self.head(self.encoder(x, mask=mask, is_causal=True))


def run(title, model):
    fill(model.order)
    decayed = [p for _, p in model.order if p.dim() >= 2]
    others = [p for _, p in model.order if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
        lr=6e-4, betas=(0.9, 0.95), eps=1e-8)
    losses, norms = [], []
    for step in range(STEPS):
        inputs, targets = batch(step)
        logits = model(inputs)[..., :VOCAB]  # padding rows of the vocabulary do not enter the loss
        loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), targets.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP).item())
        optimizer.step()
        losses.append(loss.item())
    print(f"// {title}, {sum(p.numel() for _, p in model.order)} parameters.")
    for kind, values in ("Losses", losses), ("Norms", norms):
        print(f"constexpr double k{title}{kind}[] = {{")
        for at in range(0, len(values), 8):
            print("    " + ", ".join(f"{v:.7f}" for v in values[at:at + 8]) + ",")
        print("};")


print(f"// Written by make_reference.py with PyTorch {torch.__version__.split('+')[0]}: {STEPS} steps of AdamW, fp32.")
run("Gpt", PreNorm())
run("TinyTransformer", PostNorm())
