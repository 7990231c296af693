"""Trains small GPT-2s with dttrain, exports them, and loads them with Hugging Face's own library.

usage: hf_test.py FOLDER_OF_PROGRAMS FOLDER_OF_TEST_PROGRAMS

Exits 77 (skipped) if torch or transformers cannot be imported. To run it by hand, use the Python of a virtual
environment with torch, transformers, safetensors and numpy.
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
    import torch
    import transformers
except ImportError as error:
    print(f"skipped: {error}; it needs torch, transformers, safetensors and numpy")
    sys.exit(77)

BIN, TESTS = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
VOCAB, LENGTH, EVAL_BATCHES = 61, 32, 4
# Logits are of the order of 1 to 10 here; two orders of summation in fp32 differ by less than this.
LOGITS_TOLERANCE, LOSS_TOLERANCE = 2e-5, 1e-5


def tokens(count):
    """Returns tokens: mostly a pattern, sometimes noise."""
    state, ids = 12345, []
    for i in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        ids.append((state >> 16) % VOCAB if state >> 24 < 64 else (i * 7 + i // 5) % VOCAB)
    return ids


def write_shard(path, ids):
    path.write_bytes(struct.pack("<256i", 20240520, 1, len(ids), *[0] * 253) + struct.pack(f"<{len(ids)}H", *ids))


def spec(**model):
    return {
        "version": 1,
        "name": "hf",
        "seed": 11,
        "data": {"train": "train.bin", "val": "val.bin"},
        "model": {"preset": "gpt2", "n_layer": 3, "n_head": 4, "n_embd": 48, "n_ff": 100, "n_positions": LENGTH,
                  "vocab_size": VOCAB, "vocab_pad": 64, **model},
        "train": {"batch_size": 4, "seq_len": LENGTH, "max_steps": 60},
        "optimizer": {"lr": 3e-3},
        "precision": {"compute": "fp32"},
        "eval": {"every": 0, "batches": EVAL_BATCHES},
    }


class HuggingFaceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.val = tokens(3000)
        write_shard(self.folder / "train.bin", tokens(20000))
        write_shard(self.folder / "val.bin", self.val)

    def train(self, trial):
        """Returns the frames of a run and the folder of its checkpoint."""
        (self.folder / "trial.yaml").write_text(json.dumps(trial))
        with open(self.folder / "trial.json", "wb") as resolved:
            subprocess.run([BIN / "dtctl", "resolve", self.folder / "trial.yaml"], check=True, stdout=resolved,
                           timeout=60)
        ran = subprocess.run(
            [BIN / "dttrain", "--spec", self.folder / "trial.json", "--data-root", self.folder, "--storage",
             self.folder / "storage", "--device", "cpu", "--threads", "1"],
            capture_output=True, text=True, timeout=240)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        frames = [json.loads(line) for line in ran.stdout.splitlines()]
        saved = [frame for frame in frames if frame["type"] == "checkpoint"]
        return frames, self.folder / "storage" / saved[-1]["path"]

    def export(self, checkpoint, name):
        subprocess.run([BIN / "dtctl", "checkpoint", "export", checkpoint, "-o", self.folder / name], check=True,
                       capture_output=True, timeout=60)
        return self.folder / name

    def our_logits(self, checkpoint, ids):
        (self.folder / "ids").write_bytes(ids.numpy().tobytes())
        subprocess.run([TESTS / "print_logits", self.folder / "trial.json", checkpoint / "model.safetensors",
                        str(ids.shape[1]), self.folder / "ids", self.folder / "logits"], check=True, timeout=60)
        logits = numpy.fromfile(self.folder / "logits", dtype=numpy.float32)
        return torch.from_numpy(logits).view(*ids.shape, -1)

    def check(self, **model):
        frames, checkpoint = self.train(spec(**model))
        theirs, loading = transformers.GPT2LMHeadModel.from_pretrained(
            self.export(checkpoint, "hf"), output_loading_info=True)
        self.assertFalse(loading["missing_keys"], loading)
        self.assertFalse(loading["unexpected_keys"], loading)
        theirs.eval()
        rows = [self.val[i * LENGTH:(i + 1) * LENGTH + 1] for i in range(4 * EVAL_BATCHES)]
        ids = torch.tensor(rows)
        with torch.no_grad():
            logits = theirs(ids[:, :-1]).logits
        self.assertEqual(logits.shape[-1], VOCAB)
        ours = self.our_logits(checkpoint, ids[:, :-1].contiguous())[..., :VOCAB]
        difference = (logits - ours).abs().max().item()
        print(f"{model or 'gpt2'}: logits up to {ours.abs().max():.2f}, largest difference {difference:.1e}")
        self.assertLess(difference, LOGITS_TOLERANCE)
        return frames, theirs, ids, logits

    def check_loss(self, vocab_pad):
        frames, _, ids, logits = self.check(vocab_pad=vocab_pad)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).item()
        said = [frame for frame in frames if frame["type"] == "eval"][-1]["loss"]
        print(f"validation loss: dttrain {said:.7f}, transformers {loss:.7f}")
        self.assertLess(abs(loss - said), LOSS_TOLERANCE)

    def test_an_exported_gpt2_has_the_same_logits_and_the_same_loss(self):
        self.check_loss(vocab_pad=VOCAB)

    def test_padded_rows_are_dropped_and_had_no_part_in_the_loss(self):
        self.check_loss(vocab_pad=64)

    def test_an_untied_head_and_other_activations_are_kept(self):
        self.check(tie_head=False, activation="relu")
        for name in ("hf", "storage"):
            subprocess.run(["rm", "-r", self.folder / name], check=True)
        self.check(activation="gelu")

    def test_a_trial_begins_with_weights_that_the_library_wrote(self):
        torch.manual_seed(3)
        config = transformers.GPT2Config(vocab_size=VOCAB, n_positions=LENGTH, n_embd=48, n_layer=3, n_head=4,
                                         n_inner=100, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
                                         initializer_range=0.3, bos_token_id=None, eos_token_id=None)
        rows = torch.tensor([self.val[i * LENGTH:(i + 1) * LENGTH + 1] for i in range(4 * EVAL_BATCHES)])
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            theirs = transformers.GPT2LMHeadModel(config).to(dtype)
            theirs.save_pretrained(self.folder / "start")
            theirs.float().eval()
            with torch.no_grad():
                logits = theirs(rows[:, :-1]).logits
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten()).item()
            trial = spec(vocab_pad=VOCAB, init_from="start")
            trial["train"]["max_steps"], trial["optimizer"]["lr"] = 1, 1e-300  # 0 in fp32
            frames, _ = self.train(trial)
            said = [frame for frame in frames if frame["type"] == "eval"][-1]["loss"]
            print(f"init_from {dtype}: dttrain {said:.7f}, transformers {loss:.7f}")
            self.assertLess(abs(loss - said), LOSS_TOLERANCE)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
