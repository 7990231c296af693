"""Refusals by the client and by the coordinator, without a worker."""

import concurrent.futures
import contextlib
import os
import pathlib
import pwd
import socket
import subprocess
import unittest
import warnings
from unittest import mock

import dtrain
from dtrain.v1 import control_pb2, model_pb2
from cluster import EXPERIMENT, Cluster, ClusterTest


class RefusalTest(ClusterTest):
    def setUp(self) -> None:
        quiet = warnings.catch_warnings()
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)
        warnings.simplefilter("ignore", dtrain.SubmitWarning)

    @contextlib.contextmanager
    def refused(self, kind: type[dtrain.DtrainError], *said: str):
        with self.assertRaises(kind) as caught:
            yield
        for part in said:
            self.assertIn(part, str(caught.exception))

    def test_every_error_of_a_file_is_reported_at_its_place_and_nothing_is_submitted(self) -> None:
        file = self.cluster.path / "wrong.yaml"
        file.write_text("version: 1\nname: mine\ndata: {train: a, val: b}\ntrain:\n  batchsize: 8\n  seq_len: 0\n")
        before = len(self.client.experiments())
        with self.assertRaises(dtrain.FileRefusedError) as caught:
            self.client.submit(file, overrides={"seed": "x"})
        text = str(caught.exception)
        self.assertIn(f"{file}:5:3: error: unknown key 'train.batchsize'; did you mean 'train.batch_size'?", text)
        self.assertIn("    5 |   batchsize: 8", text)
        self.assertIn("3 errors in the experiment; nothing was submitted:", text)
        found = caught.exception.diagnostics
        self.assertEqual([one.line for one in found], [5, 6, None])
        self.assertEqual([one.path for one in found], ["train.batchsize", "train.seq_len", "seed"])
        self.assertEqual(len(self.client.experiments()), before)

    def test_the_next_of_several_addresses_is_asked_if_one_is_silent(self) -> None:
        with dtrain.Client(f"127.0.0.1:1,{self.cluster.address}") as client:
            self.assertEqual(client.experiments(), self.client.experiments())
        with dtrain.Client("127.0.0.1:1,127.0.0.1:2") as client:
            with self.refused(dtrain.UnreachableError, "no coordinator answers at 127.0.0.1:1"):
                client.experiments()
        with self.refused(dtrain.UsageError, "'127.0.0.1' is not host:port"):
            dtrain.Client(f"{self.cluster.address},127.0.0.1")
        with self.refused(dtrain.UsageError, "at most 8"):
            dtrain.Client(",".join([self.cluster.address] * 9))

    def test_code_is_packed_to_the_same_bytes_as_by_dtctl(self) -> None:
        folder = self.cluster.path / "code"
        (folder / "lib").mkdir(parents=True)
        (folder / "train.py").write_text("print('hello')\n")
        (folder / "run").write_text("#!/bin/sh\n")
        (folder / "run").chmod(0o755)
        (folder / "lib/bytes").write_bytes(b"\0\xff")
        (folder / "lib-x").write_text("sorts before lib/bytes")
        (folder / "lib/again").symlink_to("../train.py")
        (folder / "\u00fc.txt").write_text("")
        (folder / "__pycache__").mkdir()
        (folder / "__pycache__/x.pyc").write_text("does not travel")
        (folder / "secret").write_text("ignored where git is asked")
        program = {"version": 1, "name": "mine", "run": "true", "code": "code",
                   "resources": {"gpus": 1, "device": "cpu"}}
        file = self.cluster.path / "mine.yaml"
        file.write_text("version: 1\nname: mine\nrun: 'true'\ncode: code  # beside\n"
                        "resources: {gpus: 1, device: cpu}\n")

        def digests() -> set[str]:
            by_dtctl = int(self.cluster.dtctl("submit", str(file), "--id-only", "--address", self.cluster.address))
            with contextlib.chdir(self.cluster.path):
                by_dict = self.client.submit(program)
            self.assertEqual(self.client.validate(file).trials, 1)
            numbers = [by_dtctl, by_dict.experiment, self.client.submit(file).experiment]
            return {self.code_of(number).digest for number in numbers}

        plain = digests()
        self.assertEqual(len(plain), 1)
        (folder / ".gitignore").write_text("/secret\n*.pyc\n")
        outside = digests()
        self.assertEqual(len(outside), 1)
        self.assertNotEqual(outside, plain)
        git = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@t"]
        subprocess.run([*git, "init", "-q"], check=True)
        (folder / ".gitignore").write_text("secret\n__pycache__/\n")
        subprocess.run([*git, "add", "train.py"], check=True)
        subprocess.run([*git, "commit", "-qm", "first"], check=True)
        tracked = digests()
        self.assertEqual(len(tracked), 1)
        self.assertNotEqual(tracked, plain)
        newest = self.code_of(self.client.experiment("last").experiment)
        self.assertEqual(len(newest.revision), 40)
        self.assertIn("?? run", newest.changes)
        unpacked = self.cluster.path / "unpacked"
        self.cluster.dtctl("code", "last", "-o", str(unpacked), "--address", self.cluster.address)
        self.assertEqual((unpacked / "lib/again").read_text(), "print('hello')\n")
        self.assertFalse((unpacked / "secret").exists())
        (folder / "out").symlink_to("/etc")
        with self.refused(dtrain.DtrainError, "'out'", "leaves the folder"):
            self.client.submit(file)

    def code_of(self, experiment: int) -> model_pb2.Code:
        request = control_pb2.GetExperimentRequest(experiment=experiment)
        return self.client._connection.call("GetExperiment", request).spec.code

    def test_dtctl_finds_the_same_mistakes(self) -> None:
        text = "version: 1\nname: 5\ndata: {train: a}\nsearch: {metric: los}\nparameters: {optimizer.lr: []}\n"
        file = self.cluster.path / "same.yaml"
        file.write_text(text)
        with self.assertRaises(AssertionError) as shown:
            self.cluster.dtctl("validate", str(file))
        with self.assertRaises(dtrain.FileRefusedError) as caught:
            self.client.validate(file)
        self.assertGreater(len(caught.exception.diagnostics), 2)
        for one in caught.exception.diagnostics:
            self.assertIn(str(one).split("\n")[0], str(shown.exception))

    def test_mistakes_of_a_dict_have_paths_and_no_lines(self) -> None:
        with self.assertRaises(dtrain.FileRefusedError) as caught:
            self.client.submit({**EXPERIMENT, "trian": {}, "train": {"seq_len": 0}})
        self.assertEqual({(one.path, one.line) for one in caught.exception.diagnostics},
                         {("trian", None), ("train.seq_len", None)})
        self.assertIn("\ndict: error: unknown key 'trian'; did you mean 'train'?", str(caught.exception))

    def test_a_name_without_an_experiment_is_reported(self) -> None:
        with self.refused(dtrain.UsageError, "the file 'missing.yaml' cannot be read: No such file or directory"):
            self.client.submit("missing.yaml")
        with self.refused(dtrain.UsageError, "12 is not an experiment; give the path of a file, its text, or a dict"):
            self.client.submit(12)
        with self.refused(dtrain.UsageError, "cannot be written as JSON"):
            self.client.submit({**EXPERIMENT, "seed": object()})
        with self.refused(dtrain.UsageError, "optimizer.lr cannot be written as JSON"):
            self.client.submit(EXPERIMENT, overrides={"optimizer.lr": float("nan")})
        latin = self.cluster.path / "latin.yaml"
        latin.write_bytes(b"name: caf\xe9\n")
        with self.refused(dtrain.UsageError, "is not UTF-8 at byte 9"):
            self.client.submit(latin)
        with self.refused(dtrain.FileRefusedError, "1048576"):
            self.client.submit("# " + "x" * (1 << 20) + "\n")

    def test_a_dict_may_hold_numpy_and_paths(self) -> None:
        import numpy  # comes with pandas
        checked = self.client.validate({
            **EXPERIMENT, "parameters": {"optimizer.lr": numpy.logspace(-4, -2, 3), "model.n_layer": [numpy.int64(1)]},
            "model": {"preset": "gpt2", "n_head": 2, "n_embd": numpy.int32(16), "n_positions": 16},
            "data": {**EXPERIMENT["data"], "train": pathlib.Path("text/train_*.bin")}})
        self.assertEqual([round(one["optimizer.lr"], 9) for one in checked.parameters], [1e-4, 1e-3, 1e-2])
        self.assertEqual((checked.experiment, checked.trials, checked.device), (0, 3, "cpu"))
        self.assertTrue(checked.cannot_be_placed)

    def test_a_dict_may_run_a_program(self) -> None:
        program = {"version": 1, "name": "program", "command": ["python3", "train.py", "--lr={lr}"], "steps": 100,
                   "parameters": {"lr": [0.1, 0.01], "layers": {"min": 1, "max": 4, "count": 2}, "model": "resnet"},
                   "search": {"metric": "accuracy"}, "resources": {"gpus": 2, "env": {"OMP_NUM_THREADS": 1}}}
        checked = self.client.validate(program)
        self.assertEqual(checked.parameters[3], {"lr": 0.01, "layers": 4, "model": "resnet"})
        with self.assertRaises(dtrain.FileRefusedError) as caught:
            self.client.validate({**program, "command": ["./go", "{learning}"], "train": {"max_steps": 5}})
        self.assertEqual({one.path for one in caught.exception.diagnostics}, {"train"})

    def test_drawn_trials_and_their_range_are_shown(self) -> None:
        drawn = {**EXPERIMENT, "name": "drawn", "search": {"method": "random", "max_trials": 3},
                 "parameters": {"optimizer.lr": {"min": 1e-4, "max": 1e-2, "scale": "log"},
                                "train.grad_clip": [1.0, 2.0]}}
        checked = self.client.validate(drawn)
        self.assertEqual(checked.trials, 3)
        submitted = self.client.submit(drawn)
        self.assertEqual([one.parameters for one in self.client.trials(submitted)], checked.parameters)
        self.assertTrue(all(1e-4 <= one["optimizer.lr"] <= 1e-2 for one in checked.parameters), checked.parameters)
        self.assertEqual(self.client.describe(submitted).parameters,
                         {"optimizer.lr": {"min": 1e-4, "max": 1e-2, "scale": "log"}, "train.grad_clip": [1.0, 2.0]})
        self.client.cancel(submitted)

    def test_unlikely_settings_cause_warnings(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            checked = self.client.validate(EXPERIMENT, overrides={"search.goal": "maximize"})
        self.assertEqual(len(checked.warnings), 1)
        self.assertIn("search.goal maximize", checked.warnings[0].message)
        shown = [str(one.message) for one in caught]
        self.assertTrue(any("search.goal maximize" in one for one in shown), shown)
        self.assertEqual({one.filename for one in caught}, {__file__})

    def test_the_same_request_id_is_one_experiment(self) -> None:
        first = self.client.submit(EXPERIMENT, request_id="once")
        again = self.client.submit(EXPERIMENT, request_id="once")
        self.assertEqual(first.experiment, again.experiment)
        with self.refused(dtrain.ConflictError, "request id 'once' was used"):
            self.client.submit({**EXPERIMENT, "seed": 2}, request_id="once")
        self.client.cancel(first)

    def test_a_missing_thing_is_reported_with_advice(self) -> None:
        with self.refused(dtrain.NotFoundError, "no experiment is named 'nobody'; Client.experiments() lists them"):
            self.client.trials("nobody")
        with self.refused(dtrain.NotFoundError, "999"):
            self.client.experiment(999)
        with self.refused(dtrain.NotFoundError, "experiment 999 does not exist"):
            self.client.wait("999/1", timeout=5)
        with self.refused(dtrain.UsageError, "'12x' is not an experiment or a trial; give 12, 12/3, 'last', 'last/3'"):
            self.client.trials("12x")
        with self.refused(dtrain.UsageError, "'12/3' is a trial; this takes an experiment"):
            self.client.best("12/3")
        with self.refused(dtrain.UsageError, "12 is an experiment; this takes one of its trials, such as '12/1'"):
            self.client.trial(12)
        with self.refused(dtrain.UsageError, "there is no state 'done'; there are: pending, starting, running"):
            self.client.trials("last", states=["done"])
        with self.refused(dtrain.UsageError, "until is 'end'; give 'done', 'running' or 'first-step'"):
            self.client.wait("last", until="end")

    def test_a_name_that_several_have_is_refused_with_their_numbers(self) -> None:
        numbers = [self.client.submit({**EXPERIMENT, "name": "twice"}).experiment for _ in range(2)]
        with self.refused(dtrain.UsageError, f"2 experiments are named 'twice'; give the number of one: {numbers[0]}, "
                                             f"{numbers[1]}"):
            self.client.trials("twice")
        for number in numbers:
            self.client.cancel(number)

    def test_a_call_that_the_state_forbids_is_a_conflict(self) -> None:
        submitted = self.client.submit(EXPERIMENT)
        with self.refused(dtrain.ConflictError):
            self.client.delete(submitted)
        with self.refused(dtrain.WaitTimeoutError, f"experiment {submitted.experiment} did not end within 0 s"):
            self.client.wait(submitted, timeout=0)
        self.assertEqual(self.client.cancel(submitted, reason="enough"), 2)
        self.assertEqual(self.client.wait(submitted, timeout=30).state, "cancelled")
        with self.refused(dtrain.NotFoundError, "no trial of experiment", "has a val_loss yet"):
            self.client.best(submitted)

    def test_the_default_user_is_the_machines_account(self) -> None:
        for unset in ({}, {"USER": ""}):
            with mock.patch.dict(os.environ, unset):
                if not unset:
                    os.environ.pop("USER", None)
                submitted = self.client.submit({**EXPERIMENT, "name": "unnamed"})
                self.client.cancel(submitted)
            self.assertEqual(self.client.experiment(submitted).submitted_by, pwd.getpwuid(os.geteuid()).pw_name)

    def test_a_submitted_experiment_is_changed_and_says_by_whom(self) -> None:
        with mock.patch.dict(os.environ, {"USER": "ann"}):
            submitted = self.client.submit({**EXPERIMENT, "name": "changing"})
            self.assertEqual(self.client.experiment(submitted).submitted_by, "ann")
            self.assertEqual(self.client.pause(submitted), 0)
            self.assertTrue(self.client.experiment(submitted).paused)
            self.assertTrue(self.client.resume(submitted))
            self.assertFalse(self.client.resume(submitted))
            self.assertTrue(self.client.set(submitted, max_concurrent=2, priority=-3))
            self.assertFalse(self.client.set(submitted, max_concurrent=2, priority=-3))
            self.assertTrue(self.client.extend(submitted, max_steps=100_000))
            self.assertTrue(self.client.rename(submitted, "changed"))
            self.assertTrue(self.client.note("changed", "the good one"))
            self.assertTrue(self.client.label("changed", {"team": "vision", "paper": "yes"}))
            self.assertTrue(self.client.label("changed", {"paper": None}))
            with self.refused(dtrain.ConflictError, "have not ended"):
                self.client.archive("changed")
        found = self.client.experiment("changed")
        self.assertEqual((found.name, found.note, found.labels.get("team"), found.labels.get("paper")),
                         ("changed", "the good one", "vision", None))
        self.assertIn("by ann", self.cluster.dtctl("--address", self.cluster.address, "describe",
                                                   str(submitted.experiment)))
        self.client.cancel("changed")
        self.client.wait("changed", timeout=30)
        self.assertTrue(self.client.archive("changed"))
        self.assertNotIn(submitted.experiment, [one.experiment for one in self.client.experiments()])
        self.assertIn(submitted.experiment, [one.experiment for one in self.client.experiments(archived=True)])
        self.assertTrue(self.client.archive("changed", False))

    def test_an_empty_change_is_refused(self) -> None:
        submitted = self.client.submit({**EXPERIMENT, "name": "constant"})
        with self.refused(dtrain.UsageError, "set what? give one of max_concurrent, max_trials"):
            self.client.set(submitted)
        with self.refused(dtrain.UsageError, "extend by what?"):
            self.client.extend(submitted, max_steps=5, max_trials=5)
        with self.refused(dtrain.UsageError, "max_concurrent cannot be -1"):
            self.client.set(submitted, max_concurrent=-1)
        with self.refused(dtrain.UsageError, "no label is given"):
            self.client.label(submitted, {})
        self.client.cancel(submitted)

    def test_a_worker_is_drained_by_its_name_before_it_comes(self) -> None:
        self.assertTrue(self.client.drain("gpu07/cuda:0", reason="new disk"))
        self.assertFalse(self.client.drain("gpu07/cuda:0"))
        found = [one for one in self.client.workers() if one.worker == "gpu07/cuda:0"]
        self.assertEqual([one.state for one in found], ["lost"])
        self.assertRegex(found[0].mark, "drained by .*: new disk")
        self.assertTrue(self.client.undrain(found[0]))
        self.assertFalse(self.client.undrain("gpu07/cuda:0"))
        with self.refused(dtrain.UsageError, "1 to 256"):
            self.client.drain("")

    def test_a_quota_is_set_listed_and_taken_away(self) -> None:
        self.assertTrue(self.client.set_quota(8, user="nobody-in-particular"))
        self.assertFalse(self.client.set_quota(8, user="nobody-in-particular"))
        self.assertEqual([(one.user, one.slots, one.held) for one in self.client.quotas()],
                         [("nobody-in-particular", 8, 0)])
        self.assertTrue(self.client.set_quota(None, user="nobody-in-particular"))
        self.assertEqual(self.client.quotas(), [])
        with self.refused(dtrain.UsageError, "of a user or of a label"):
            self.client.set_quota(8)
        with self.refused(dtrain.UsageError, "no number of slots"):
            self.client.set_quota(-1, user="nobody-in-particular")

    def test_a_closed_client_says_so(self) -> None:
        with self.cluster.client() as client:
            client.status()
        with self.refused(dtrain.UsageError, "this client was closed; make another"):
            client.status()


class AddressTest(unittest.TestCase):
    def test_an_invalid_address_and_incomplete_tls_files_are_refused_at_once(self) -> None:
        for address, said in [("nowhere", "address 'nowhere' is not host:port"),
                              ("example.org:7600", "is not on this host, and without TLS only loopback")]:
            with self.subTest(address), self.assertRaisesRegex(dtrain.UsageError, said):
                dtrain.Client(address)
        with self.assertRaisesRegex(dtrain.UsageError, "mutual TLS needs all of tls_ca, tls_cert and tls_key"):
            dtrain.Client("example.org:7600", tls_ca="ca.crt")
        with self.assertRaisesRegex(dtrain.UsageError, "tls_ca missing.crt cannot be read: No such file"):
            dtrain.Client("example.org:7600", tls_ca="missing.crt", tls_cert="a", tls_key="b")
        with self.assertRaisesRegex(dtrain.UsageError, "timeout is 600; it must be above 0 and at most 60 seconds"):
            dtrain.Client("127.0.0.1:1", timeout=600)

    def test_an_absent_coordinator_is_reported_with_the_address_and_advice(self) -> None:
        with socket.socket() as taken:  # bound, but not listening
            taken.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            with self.assertRaises(dtrain.UnreachableError) as caught:
                dtrain.Client(address).status()
        self.assertIn(f"no coordinator answers at {address} (Connection refused); start one on this machine with "
                      "'dtctl up'", str(caught.exception))

    def test_a_listener_that_is_no_coordinator_is_reported_within_the_timeout(self) -> None:
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            with self.assertRaisesRegex(dtrain.UnreachableError, address):
                dtrain.Client(address, timeout=0.2).status()


class TlsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.cluster = Cluster()
        self.addCleanup(self.cluster.close)
        self.path = self.cluster.path
        self.make("req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=authority", "-keyout", "ca.key", "-out",
                  "ca.crt")
        for name in ("server", "desk"):
            self.make("req", "-nodes", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                      f"{name}.key", "-out", f"{name}.csr")
            self.run_("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
                      "-days", "2", "-copy_extensions", "copyall", "-out", f"{name}.crt")
        self.cluster.start_coordinator(flags=("--tls-ca", "ca.crt", "--tls-cert", "server.crt", "--tls-key",
                                              "server.key"))

    def make(self, request: str, *arguments: str) -> None:
        self.run_(request, "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", *arguments)

    def run_(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.path, capture_output=True, timeout=60, check=True)

    def files(self, name: str, key: str) -> dict[str, str]:
        return {"tls_ca": str(self.path / "ca.crt"), "tls_cert": str(self.path / f"{name}.crt"),
                "tls_key": str(self.path / f"{key}.key")}

    def test_files_of_one_pair_connect_and_mismatches_are_distinguished(self) -> None:
        with self.cluster.client(**self.files("desk", "desk")) as client:
            self.assertEqual(client.status().program_version, dtrain.__version__)
        with self.assertRaisesRegex(dtrain.UsageError, "server.key is not the key of the certificate tls_cert"):
            self.cluster.client(**self.files("desk", "server"))
        with self.cluster.client() as client, self.assertRaises(dtrain.UnreachableError) as caught:
            client.status()
        self.assertIn("tls_ca, tls_cert and tls_key", str(caught.exception))

    def test_a_context_brings_its_files(self) -> None:
        files = self.files("desk", "desk")
        self.cluster.dtctl("context", "add", "lab", "--address", self.cluster.address, "--tls-ca", files["tls_ca"],
                           "--tls-cert", files["tls_cert"], "--tls-key", files["tls_key"])
        with mock.patch.dict(os.environ, {"XDG_CONFIG_HOME": str(self.path / "config")}), dtrain.Client() as client:
            self.assertEqual((client.context, client.status().experiments), ("lab", 0))


class RestartTest(unittest.TestCase):
    def setUp(self) -> None:
        self.cluster = Cluster()
        self.addCleanup(self.cluster.close)
        self.socket = f"unix:{self.cluster.path}/socket"
        self.process = self.cluster.start_coordinator(self.socket)
        self.client = self.cluster.client()
        self.addCleanup(self.client.close)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dtrain.SubmitWarning)
            self.submitted = self.client.submit(EXPERIMENT, request_id="a")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=20)

    def test_a_submission_is_repeated_while_a_coordinator_restarts(self) -> None:
        self.kill()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            starting = pool.submit(self.cluster.start_coordinator, self.socket)
            again = self.client.submit(EXPERIMENT, request_id="a")
            starting.result(timeout=60)
        self.assertEqual(again.experiment, self.submitted.experiment)
        self.assertEqual(len(self.client.experiments()), 1)

    def test_waiting_outlives_a_restart_of_the_coordinator(self) -> None:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(self.client.wait, self.submitted, timeout=60)
            self.kill()
            self.cluster.start_coordinator(self.socket)
            with self.cluster.client() as other:
                other.cancel(self.submitted)
            self.assertEqual(waiting.result(timeout=60).state, "cancelled")
