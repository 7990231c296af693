"""Trainings of a day on a GPU besides training_bench's: PyTorch by itself, the recipe compared with it, settings of
CUDA."""

import json
import os
import pathlib
import statistics
import sys
import tempfile

import kit as kits
import models
import ours
import python_torch
import records
import shapes
import theirs

VARIANTS = ["eager", "default"]
# The recipe of examples/gpt2-124m.yaml, on one GPU and without accumulation.
RECIPE_RATE, RECIPE_WARM_UP = 6e-4, 715
SETTINGS = [{}, {"CUBLASLT_WORKSPACE_SIZE": "32768"}, {"TORCH_BLAS_PREFER_CUBLASLT": "1"},
            {"TORCH_CUDNN_SDPA_DEPRIORITIZED": "1"}]


class Case:
    """Makes the case of a shape, with its tokens in a folder, for peer.py and dttrain."""

    def __init__(self, kit: kits.Kit, shape: shapes.Shape, steps: int, folder: pathlib.Path):
        self.kit, self.shape, self.steps, self.folder = kit, shape, steps, folder
        self.cores = sorted(os.sched_getaffinity(0))
        models.write_shard(folder / "train.bin", shape.model["vocab_size"], steps * shape.tokens + 1)

    def spec(self, logged_every: int = 1) -> dict:
        return models.spec_of(self.shape.model, batch=self.shape.batch, length=self.shape.length, steps=self.steps,
                              accumulate=self.shape.accumulate, precision="bf16", logged_every=logged_every)

    def file(self, weights: str, **more) -> str:
        path = self.folder / "case.json"
        path.write_text(json.dumps({
            "model": self.shape.model, "batch": self.shape.batch, "length": self.shape.length,
            "accumulate": self.shape.accumulate, "ranks": 1, "threads": len(self.cores), "cores": [self.cores],
            "device": "cuda", "precision": "bf16", "lr": models.LEARNING_RATE, "meeting": "",
            "shard": str(self.folder / "train.bin"), "weights": weights, **more}), encoding="utf-8")
        return str(path)

    def peer(self, variant: str, case_file: str) -> theirs.Peer:
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(python_torch.cache_folder() / "bench-inductor")}
        program = pathlib.Path(self.kit.peer_program) if self.kit.peer_program else theirs.PROGRAM
        return theirs.Peer(sys.executable, environment, case_file, 1, variant, sys.stderr, program)

    def gang(self, environment: dict[str, str] | None = None) -> ours.Gang:
        return ours.Gang(self.kit.dttrain, len(self.cores), [self.cores], sys.stderr, "cuda:0",
                         environment=environment)


def shape_named(name: str) -> shapes.Shape:
    return shapes.chosen_shapes(name, False)[0]


def write_weights(model: dict, path: pathlib.Path) -> None:
    """Writes GPT-2's initial weights to a safetensors file, for use without a trainer that draws them."""
    import torch  # not needed where there is a trainer

    wide, width = model["n_ff"], model["n_embd"]
    tensors = {"wte.weight": (model["vocab_pad"], width), "wpe.weight": (model["n_positions"], width),
               "ln_f.weight": (width,), "ln_f.bias": (width,)}
    layer = {"ln_1.weight": (width,), "ln_1.bias": (width,), "attn.c_attn.weight": (3 * width, width),
             "attn.c_attn.bias": (3 * width,), "attn.c_proj.weight": (width, width), "attn.c_proj.bias": (width,),
             "ln_2.weight": (width,), "ln_2.bias": (width,), "mlp.c_fc.weight": (wide, width),
             "mlp.c_fc.bias": (wide,), "mlp.c_proj.weight": (width, wide), "mlp.c_proj.bias": (width,)}
    for number in range(model["n_layer"]):
        tensors |= {f"h.{number}.{name}": shape for name, shape in layer.items()}
    header, parts, offset = {}, [], 0
    for name, shape in tensors.items():
        of_norm = ".ln_" in name or name.startswith("ln_")
        values = torch.zeros(shape) if name.endswith("bias") else torch.ones(shape) if of_norm else (
            torch.randn(shape) * 0.02)
        data = values.numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [offset, offset + len(data)]}
        parts.append(data)
        offset += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))


def pytorch(kit: kits.Kit) -> int:
    """Measures a day's first results: PyTorch at the first shape, while the trainer is built."""
    shape = shape_named(kit.shapes[0])
    beside = bool(os.environ.get("DTRAIN_DAY_BUILDING"))
    with tempfile.TemporaryDirectory() as name:
        case = Case(kit, shape, kit.warm_up + kit.steps, pathlib.Path(name))
        weights = pathlib.Path(name) / "weights.safetensors"
        if not kit.peer_program:
            write_weights(shape.model, weights)
        failed = 0
        for variant in VARIANTS:
            peer = case.peer(variant, case.file(str(weights)))
            try:
                if peer.failed:
                    raise theirs.Failed(peer.failed)
                told = peer.run(case.steps)
                seconds = statistics.median(told["seconds"][kit.warm_up:])
                records.say("pytorch", f"{shape.name} PyTorch {variant}: {1e3 * seconds:.2f} ms a step, "
                            f"{shape.tokens / seconds:,.0f} tokens/s{', beside the build' if beside else ''}",
                            shape=shape.name, who=variant, ms=1e3 * seconds, tokens_per_second=shape.tokens / seconds,
                            memory_gib=told["memory"] / 2**30, first_seconds=peer.ready_seconds, beside_build=beside)
            except theirs.Failed as why:
                failed += 1
                records.say("pytorch", f"{shape.name} PyTorch {variant}: {why}", shape=shape.name, who=variant,
                            failed=str(why))
            finally:
                peer.close()
    return int(failed == len(VARIANTS))


def recipe(kit: kits.Kit) -> int:
    """Compares the losses, step by step, of the recipe's warm-up between dttrain and PyTorch eager, from the same
    weights."""
    shape = shape_named(kit.shape)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        case = Case(kit, shape, kit.recipe_steps, folder)
        spec = case.spec()
        spec["optimizer"]["lr"] = RECIPE_RATE
        # Its 19,073 steps decay after the warm-up, which this run does not reach.
        warm_up = min(RECIPE_WARM_UP, kit.recipe_steps)
        spec["optimizer"]["lr"] = RECIPE_RATE * warm_up / RECIPE_WARM_UP
        spec["schedule"]["warmup_steps"] = warm_up
        gang = case.gang()
        try:
            weights = ours.initial_weights(gang, {**spec, "schedule": {**spec["schedule"], "warmup_steps": 0}}, name,
                                           name)
            mine = gang.run(spec, name)["losses"]
        finally:
            gang.close()
        peer = case.peer("eager", case.file(weights, lr=spec["optimizer"]["lr"], warmup_steps=warm_up))
        try:
            if peer.failed:
                raise theirs.Failed(peer.failed)
            others = peer.run(case.steps)["losses"]
        finally:
            peer.close()
        agreed = shapes.agreement(mine, others, "bf16")
        for step in sorted({1, *range(max(1, case.steps // 10), case.steps + 1, max(1, case.steps // 10))}):
            print(f"  step {step:4}: {mine[step - 1]:.5f} dttrain, {others[step - 1]:.5f} PyTorch", flush=True)
        records.say("recipe", f"{case.steps} steps, at most {agreed.all:.1e} apart ({agreed.early:.1e} in the first "
                    f"{shapes.EARLY_STEPS}) {agreed.problem}", shape=shape.name, steps=case.steps, ours=mine,
                    theirs=others, early=agreed.early, all=agreed.all, problem=agreed.problem)
    return int(bool(agreed.problem))


def settings(kit: kits.Kit) -> int:
    """Runs dttrain by itself, a process for each setting of CUDA's libraries that might make it faster."""
    shape = shape_named(kit.shape)
    steps = kit.warm_up + kit.steps
    window = shapes.window_of(kit.warm_up, kit.steps)
    with tempfile.TemporaryDirectory() as name:
        case = Case(kit, shape, steps, pathlib.Path(name))
        for chosen in SETTINGS:
            words = " ".join(f"{key}={value}" for key, value in chosen.items()) or "as it is"
            gang = case.gang(chosen)
            try:
                told = gang.run(case.spec(window), name)
                seconds = statistics.median(told["seconds"][kit.warm_up // window:])
                records.say("setting", f"{shape.name} {words}: {1e3 * seconds:.2f} ms a step", shape=shape.name,
                            setting=words, ms=1e3 * seconds, memory_gib=told["memory"] / 2**30)
            except ours.Ended as end:
                records.say("setting", f"{shape.name} {words}: {end}", shape=shape.name, setting=words,
                            failed=str(end))
            finally:
                gang.close()
    return 0
