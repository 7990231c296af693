"""The models of the benchmark as fields of dttrain's specification, the specification itself, and tokens."""

import array
import pathlib
import random

LEARNING_RATE = 3e-4

# Peers sum over every row of a padded vocabulary; every row is a token here, so that both compute the same.
GPT = {"preset": "gpt2", "norm": "pre", "positions": "learned", "activation": "gelu_tanh", "tie_head": True,
       "head_bias": False, "bias": True, "dropout": 0.0}
GPT2 = {**GPT, "n_layer": 12, "n_head": 12, "n_embd": 768, "n_ff": 3072, "n_positions": 1024, "vocab_size": 50304,
        "vocab_pad": 50304}
TINY_TRANSFORMER = {"preset": "tiny_transformer", "norm": "post", "positions": "sinusoidal", "activation": "relu",
                    "n_layer": 5, "n_head": 5, "n_embd": 300, "n_ff": 2048, "n_positions": 2048, "dropout": 0.0,
                    "vocab_size": 50257, "vocab_pad": 50257, "tie_head": False, "head_bias": True, "bias": True}
SMALL_GPT = {**GPT, "n_layer": 4, "n_head": 4, "n_embd": 256, "n_ff": 1024, "n_positions": 128, "vocab_size": 50304,
             "vocab_pad": 50304}
BYTE_GPT = {**GPT, "n_layer": 4, "n_head": 4, "n_embd": 128, "n_ff": 512, "n_positions": 64, "vocab_size": 320,
            "vocab_pad": 320}
# Most of it is in its layers, which ranks share layer by layer.
DEEP_GPT = {**GPT, "n_layer": 8, "n_head": 4, "n_embd": 256, "n_ff": 1024, "n_positions": 128, "vocab_size": 320,
            "vocab_pad": 320}

# Tokens drawn one by one; longer data repeats them.
DRAWN_TOKENS = 1 << 22


def write_shard(path: pathlib.Path, vocab: int, count: int) -> None:
    """Writes tokens in llm.c's format, distributed like words, the same every time."""
    draw = random.Random(1).random
    ids = array.array("H", (int(vocab * draw() ** 3) for _ in range(min(count, DRAWN_TOKENS))))
    while len(ids) < count:
        ids.extend(ids[: count - len(ids)])
    header = array.array("i", [20240520, 1, count] + [0] * 253)
    path.write_bytes(header.tobytes() + ids.tobytes())


def spec_of(model: dict, *, batch: int, length: int, steps: int, accumulate: int = 1, precision: str = "fp32",
            logged_every: int = 1) -> dict:
    """`accumulate` above 1: for a trial of one rank."""
    return {  # every field, so that no default affects the measurement
        "seed": 11,
        "resources": {"gpus": 1, "device": "auto"},
        "data": {"train": "train.bin", "val": "", "format": "auto", "shuffle": False, "tokenizer": "gpt2"},
        "model": {**model, "init_from": "", "activation_checkpointing": "none"},
        "train": {"batch_size": batch, "seq_len": length, "max_steps": steps, "max_tokens": 0, "epochs": 0,
                  "global_batch_size": batch * accumulate if accumulate > 1 else 0, "global_batch_tokens": 0,
                  "max_time_seconds": 0, "grad_clip": 1.0, "hash_every": 0},
        "optimizer": {"type": "adamw", "lr": LEARNING_RATE, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1,
                      "decay_ndim_min": 2, "scale_lr": "none", "scale_lr_from": 0},
        "schedule": {"type": "constant", "warmup_steps": 0, "warmup_ratio": 0, "min_lr_ratio": 0, "decay_ratio": 0},
        "precision": {"compute": precision, "reduce": "fp32"},
        "parallel": {"strategy": "ddp", "shard": 0, "tensor": 1, "sequence": True, "sync_every": 16, "outer_lr": 1,
                     "outer_momentum": 0, "bucket_mb": 25, "compression": "none", "rank": 4, "share": 0.01,
                     "pipeline": 1, "schedule": "1f1b", "interleave": 2, "microbatches": 0, "balance": "none"},
        "eval": {"every": 0, "batches": 1, "hellaswag": "", "samples": 0, "sample_prompt": "", "sample_tokens": 1,
                 "sample_temperature": 1, "sample_top_k": 0, "vocab": "vocab.bpe"},
        "checkpoint": {"every": {"steps": 0}, "keep_latest": 1, "keep_best": 1},
        "stop": {"nonfinite": "fail", "patience": 0, "max_loss": 0, "median_after": 0},
        "retries": {"max": 0, "backoff_seconds": 0},
        "logging": {"every": logged_every, "tensorboard": True, "jsonl": True},
    }
