"""Builds and runs the images of deploy/containers: a sweep on two workers, each program as its own process 1.

usage: container_test.py BUILD_DIR     exits 77 with the reason if that cannot be done

Builds with buildah in chroot isolation, which needs only root's rights; `podman run` needs limits that not every
machine may set. Programs run in the images' file systems under unshare, in one network, as in compose.yaml. No base
image comes from a registry: mmdebstrap makes the base. containerfile_test is the short form.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from debian_root import children, end_container, grow_old, make_base, run, stand_still, why_not
from house_test import EXPERIMENT, SKIPPED, WORDS
from until import until

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONTAINERS = ROOT / "deploy/containers"
ACCOUNT = "7600"


class Containers(unittest.TestCase):
    build: pathlib.Path

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="dtrain-test-", dir="/var/tmp")
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)
        cls.store = ["buildah", "--root", str(cls.path / "store"), "--runroot", str(cls.path / "run"),
                     "--storage-driver", "vfs"]
        packages = cls.path / "packages"
        run("cpack", "-B", packages, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none", cwd=cls.build)
        shutil.rmtree(packages / "_CPack_Packages")
        make_base(cls.path / "base.tar", [])
        cls.image_of("dtrain-base", cls.path / "base.tar", "/")
        cls.image_of("dtrain-packages", packages, "/packages")
        (cls.path / "context").mkdir()
        cls.roots = {}
        cls.names = {}
        for target in ("coordinator", "worker"):
            cls.buildah("bud", "--isolation", "chroot", "--format", "docker", "--target", target,
                        "--build-arg", "BASE=localhost/dtrain-base",
                        "--build-arg", "PACKAGES=localhost/dtrain-packages",
                        "--tag", f"dtrain-{target}", "--file", CONTAINERS / "Containerfile", cls.path / "context")
            cls.names[target] = cls.buildah("from", "--pull-never", f"localhost/dtrain-{target}").strip()
            cls.roots[target] = cls.buildah("mount", cls.names[target]).strip()
            cls.addClassCleanup(cls.buildah, "rm", cls.names[target])

    @classmethod
    def buildah(cls, *words, network: int = 0) -> str:
        inside = ["nsenter", f"--net=/proc/{network}/ns/net"] if network else []
        return run(*inside, *cls.store, *words, seconds=900)

    @classmethod
    def image_of(cls, name: str, content: pathlib.Path, place: str) -> None:
        container = cls.buildah("from", "scratch").strip()
        cls.buildah("add", "--quiet", container, content, place)
        cls.buildah("commit", "--quiet", "--rm", container, name)

    def settings(self, target: str) -> dict:
        return json.loads(self.buildah("inspect", "--type", "image", f"localhost/dtrain-{target}"))["Docker"]["config"]

    def start(self, name: str, target: str, *words: str, network: int, folder: str,
              kept: pathlib.Path) -> subprocess.Popen:
        """Runs the image's own entry point with these arguments, as its account and as process 1 of a namespace."""
        settings, root = self.settings(target), self.roots[target]
        script = (f"mount --rbind /dev {root}/dev; mount --bind {kept} {root}{folder};"
                  f"mount -t tmpfs -o uid={ACCOUNT},gid={ACCOUNT},mode=0750 tmpfs {root}/run/dtworker;"
                  f'exec chroot --userspec={ACCOUNT}:{ACCOUNT} {root} /usr/bin/env -i "$@"')
        log = (self.path / f"{name}.log").open("wb")
        self.addCleanup(log.close)
        process = subprocess.Popen(
            ["nsenter", f"--net=/proc/{network}/ns/net", "unshare", "--mount", "--pid", "--fork", "--kill-child",
             f"--mount-proc={root}/proc", "sh", "-ec", script, name, *settings["Env"], *settings["Entrypoint"],
             *words],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(end_container, process)
        return process

    def stop(self, name: str, process: subprocess.Popen) -> int:
        """Stops it as a runtime does, with the image's signal to process 1. Returns its exit code."""
        os.kill(children(process.pid)[0], signal.SIGTERM)
        try:
            return process.wait(60)
        except subprocess.TimeoutExpired:
            self.fail(f"{name} did not stop:\n{self.log(name)}")

    def log(self, name: str) -> str:
        return (self.path / f"{name}.log").read_text(errors="replace")[-3000:]

    def network(self) -> int:
        script = "ip link set lo up && echo up && exec sleep infinity"
        holder = subprocess.Popen(["unshare", "--net", "sh", "-c", script],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(holder.stdout.close)
        self.addCleanup(self.end, holder)
        self.assertEqual(holder.stdout.readline(), "up\n")
        return holder.pid

    def test_images_match_their_description(self):
        for target in ("coordinator", "worker"):
            settings = self.settings(target)
            self.assertEqual((settings["User"], settings["StopSignal"]), ("dtrain", "SIGTERM"))
            data = pathlib.Path(self.roots[target]) / "var/lib/dtrain-worker/data"
            self.assertEqual(data.stat().st_uid, int(ACCOUNT))
        coordinator = pathlib.Path(self.roots["coordinator"])
        self.assertFalse((coordinator / "usr/lib/dtrain").exists(), "LibTorch")
        self.assertFalse(list(coordinator.glob("packages/*")))
        megabytes = int(run("du", "-sm", coordinator).split()[0])
        print(f"coordinator image: {megabytes} MB, worker: {run('du', '-sm', self.roots['worker']).split()[0]} MB")
        self.assertLess(megabytes, int(run("stat", "-c", "%s", self.path / "base.tar")) / 1e6 + 100)
        programs = {"coordinator": ("dtcoord", "dtctl"), "worker": ("dtworker", "dtprogram", "dttrain")}
        for target in programs:
            for program in programs[target]:
                said = self.buildah("run", "--isolation", "chroot", self.names[target], "--", program, "--version")
                self.assertIn(program, said)

    def test_a_sweep_trains_on_two_workers_and_each_program_stops_as_process_1(self):
        network = self.network()
        state, storage = self.path / "state", self.path / "storage"
        for folder in (state, storage, storage / "data", storage / "storage"):
            folder.mkdir()
            os.chown(folder, int(ACCOUNT), int(ACCOUNT))
        coordinator = self.start("coordinator", "coordinator", network=network, folder="/var/lib/dtrain",
                                 kept=state)

        def healthy() -> bool:
            self.assertIsNone(coordinator.poll(), self.log("coordinator"))
            return self.health_check_passes(network)

        until("the health check passes", healthy, 60)
        workers = [self.start(f"worker{i}", "worker", "--slot", f"cpu:{i}", "--slots", "2", "--threads", "1",
                              "--name", f"test/cpu:{i}", network=network, folder="/var/lib/dtrain-worker",
                              kept=storage) for i in range(2)]
        for i, worker in enumerate(workers):
            until(f"the health check of worker{i} passes", lambda: self.worker_check_passes(f"worker{i}", worker), 60)
        self.train(network, storage)
        self.look_at_one_that_stands_still("worker0", workers[0])
        for i, worker in enumerate(workers):
            self.assertEqual(self.stop(f"worker{i}", worker), 0, self.log(f"worker{i}"))
        self.assertEqual(self.stop("coordinator", coordinator), 0, self.log("coordinator"))
        self.assertFalse(self.health_check_passes(network), "with nobody there")

    def health_check_passes(self, network: int) -> bool:
        kind, *words = self.settings("coordinator")["Healthcheck"]["Test"]
        self.assertEqual(kind, "CMD")
        asked = subprocess.run(["nsenter", f"--net=/proc/{network}/ns/net", *self.store, "run", "--isolation",
                                "chroot", self.names["coordinator"], "--", *words], capture_output=True, timeout=60,
                               check=False)
        return asked.returncode == 0

    def worker_check_passes(self, name: str, worker: subprocess.Popen) -> bool:
        """Runs the worker's health check inside its container, as its account."""
        self.assertIsNone(worker.poll(), self.log(name))
        settings, processes = self.settings("worker"), children(worker.pid)
        kind, *words = settings["Healthcheck"]["Test"]
        self.assertEqual(kind, "CMD")
        if not processes:
            return False  # unshare has not finished yet
        asked = subprocess.run(["nsenter", "--target", str(processes[0]), "--mount", "--pid", "--root", "--wd",
                                "--setuid", ACCOUNT, "--setgid", ACCOUNT, "--", "/usr/bin/env", "-i",
                                *settings["Env"], *words], capture_output=True, timeout=60, check=False)
        return asked.returncode == 0

    def look_at_one_that_stands_still(self, name: str, worker: subprocess.Popen) -> None:
        process, entry = children(worker.pid)[0], self.settings("worker")["Entrypoint"]
        stand_still(process)
        grow_old(process, entry[entry.index("--alive-file") + 1], 70)
        self.assertFalse(self.worker_check_passes(name, worker))
        os.kill(process, signal.SIGCONT)
        until(f"the health check of {name} passes again", lambda: self.worker_check_passes(name, worker), 60)

    def train(self, network: int, storage: pathlib.Path) -> None:
        texts = storage / "texts"
        texts.mkdir()
        for i in range(8):
            lines = (" ".join(WORDS[(i + j + k * j) % len(WORDS)] for k in range(12)) for j in range(400))
            (texts / f"{i}.txt").write_text("\n".join(lines))
        experiment = EXPERIMENT.format(name="sweep", rates="[3.0e-4, 1.0e-3]", steps=40, every=20)
        (storage / "sweep.yaml").write_text(experiment)

        def dtctl(*words: str) -> str:
            return self.buildah("run", "--isolation", "chroot", "--volume", f"{storage}:/var/lib/dtrain-worker",
                                self.names["coordinator"], "--", "dtctl", *words, network=network)

        folder = "/var/lib/dtrain-worker"
        dtctl("data", "tokenize", "--tokenizer", "byte", "--output", f"{folder}/data/house", f"{folder}/texts")
        dtctl("submit", f"{folder}/sweep.yaml")
        dtctl("wait", "last", "--timeout", "240")
        trials = json.loads(dtctl("get", "trials", "last", "-o", "json"))["items"]
        self.assertEqual([(one["state"], one["latest"]["step"]) for one in trials], [("finished", 40)] * 2)
        owner = (storage / "storage/1").stat().st_uid
        self.assertEqual(owner, int(ACCOUNT))


if __name__ == "__main__":
    Containers.build = pathlib.Path(sys.argv.pop(1)).resolve()
    reason = why_not("cpack", "dpkg-shlibdeps", "mmdebstrap", "buildah", "unshare", "nsenter", "ip")
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(defaultTest="Containers")
