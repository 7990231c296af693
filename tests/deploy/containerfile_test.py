"""Compares the text of deploy/containers with the tree and the programs. Builds no image; container_test does that.

usage: containerfile_test.py BUILD_DIR

Programs run from the images' entry points with compose.yaml's arguments, as process 1 of a namespace (compose puts an
init before a worker), with their own folders at the images' places and one network. They run as this user, not as the
images' account, and with this build's trainer. That needs namespaces, by root's rights or because the kernel allows
them; where they are refused, those cases are skipped.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

# first: it adds the path of until
from debian_root import children, end_container, grow_old, run, stand_still
import containerfile
from until import TooLate, until

ROOT = pathlib.Path(__file__).resolve().parents[2]
STAGES = containerfile.stages()
TARGETS = {"coordinator": "dtcoord", "worker": "dtworker"}
UNSHARE = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
INSIDE = "--inside"
PROGRAMS = pathlib.Path("/mnt")  # the build, in the test's own namespace
PATH = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"


def manifest(name: str) -> dict:
    import yaml  # as ./dev setup installs it

    return yaml.safe_load(next(iter((ROOT / "deploy" / name).read_text().split("\n---\n"))))


def compose() -> dict:
    return manifest("containers/compose.yaml")


class Written(unittest.TestCase):
    def test_stages_are_made_of_others_that_there_are_or_of_the_base(self):
        for name, stage in STAGES.items():
            self.assertTrue(stage.before or stage.base in ("${BASE}", "${PACKAGES}"), f"{name}: {stage.base}")
        self.assertLessEqual(set(TARGETS), set(STAGES))

    def test_images_have_packages_that_are_made_and_start_a_program_of_theirs(self):
        made = re.findall(r"APPEND DTRAIN_PACKAGES (\w+)", (ROOT / "deploy/CMakeLists.txt").read_text())
        for target, program in TARGETS.items():
            self.assertEqual(STAGES[target].entry_point()[0], f"/usr/bin/{program}")
            self.assertIn(target, STAGES[target].packages())
            self.assertLessEqual(set(STAGES[target].packages()), set(made))

    def test_the_account_is_the_manifests_and_owns_the_folders_it_writes_to(self):
        for target, file in (("coordinator", "base/coordinator.yaml"), ("worker", "workers/workers.yaml")):
            stage = STAGES[target]
            number, name = re.search(r"useradd .*?--uid (\d+) .*? (\w+) &&", " ".join(stage.all("RUN"))).groups()
            pod = manifest(f"kubernetes/{file}")["spec"]["template"]["spec"]
            self.assertEqual(int(number), pod["securityContext"]["runAsUser"])
            self.assertEqual((stage.last("USER"), stage.last("STOPSIGNAL")), (name, "SIGTERM"))
            environment = dict(word.split("=", 1) for word in stage.environment())
            self.assertEqual(environment["STATE_DIRECTORY"], stage.last("VOLUME"))
            mounts = [mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]]
            for folder in (folder for name, folder in environment.items() if name.endswith("_DIRECTORY")):
                self.assertIn(folder, stage.folders())
                self.assertIn(folder, mounts, "the pod's root is read-only")

    def test_a_pod_of_a_worker_is_probed_as_its_image_is_checked(self):
        container, = manifest("kubernetes/workers/workers.yaml")["spec"]["template"]["spec"]["containers"]
        self.assertEqual(container["livenessProbe"]["exec"]["command"], STAGES["worker"].health_check())
        self.assertNotIn("command", container, "the entry point has the file touched")
        self.assertNotIn("$", " ".join(STAGES["worker"].health_check()), "Kubernetes would put something else there")

    def test_compose_runs_existing_targets_with_existing_files(self):
        services = compose()["services"]
        for name, service in services.items():
            for volume in service.get("volumes", []):
                source = volume.split(":")[0]
                there = (containerfile.FOLDER / source).exists() if source.startswith(".") else \
                    source in compose()["volumes"]
                self.assertTrue(there, f"{name}: {volume}")
            if "build" in service:
                self.assertIn(service["build"]["target"], STAGES)
                file = containerfile.FOLDER / service["build"]["context"] / service["build"]["dockerfile"]
                self.assertTrue(file.exists(), file)
            if name != "house":
                self.assertEqual(service["network_mode"], "service:house")
                self.assertFalse({"entrypoint", "healthcheck"} & set(service), f"{name}: the image's hold")
        graces = [service["stop_grace_period"] for name, service in services.items() if name.startswith("worker")]
        self.assertEqual(set(graces), {"150s"}, "a trial saves within two minutes")


class Running(unittest.TestCase):
    """Runs in its own namespaces: see main."""
    build: pathlib.Path

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="dtrain-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)
        with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as any_socket:
            flags = struct.pack("16sh14x", b"lo", 1)  # IFF_UP
            fcntl.ioctl(any_socket, 0x8914, flags)  # SIOCSIFFLAGS
        cls.services = compose()["services"]
        # The checkout may lie in a folder that is hidden next.
        run("mount", "--bind", cls.build, PROGRAMS)

    def setUp(self):
        run("mount", "-t", "tmpfs", "tmpfs", "/var/lib")
        self.addCleanup(run, "umount", "/var/lib")

    def start(self, name: str, target: str, *words: str) -> subprocess.Popen:
        stage = STAGES[target]
        program = PROGRAMS / "bin" / TARGETS[target]
        # Each container has its own /run; /var/lib is shared, as with compose's volumes.
        script = 'mount -t tmpfs tmpfs /run; umask 027; mkdir -p $FOLDERS; exec env --unset=FOLDERS "$@"'
        with (self.path / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [*UNSHARE, "env", "-i", PATH, f"FOLDERS={' '.join(stage.folders())}", *stage.environment(), "sh",
                 "-ec", script, name, program, *stage.entry_point()[1:], *words],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(end_container, process)
        return process

    def process_1(self, container: subprocess.Popen) -> int:
        self.assertIsNone(container.poll(), self.logs())
        return next(iter(children(container.pid)), 0)

    def logs(self) -> str:
        return "\n".join(f"--- {log.name}\n{log.read_text(errors='replace')[-2000:]}"
                         for log in sorted(self.path.glob("*.log")))

    def passes(self, target: str, container: subprocess.Popen) -> bool:
        """Runs the health check of `target`'s image inside a container."""
        process = self.process_1(container)
        if not process:
            return False  # unshare has not finished yet
        asked = subprocess.run(
            ["nsenter", "--target", str(process), "--mount", "--pid", "--", "env", "-i", PATH,
             *STAGES[target].environment(), *STAGES[target].health_check()],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
        return asked.returncode == 0

    def await_health(self, target: str, container: subprocess.Popen) -> None:
        try:
            until(f"the health check of the {target} passes", lambda: self.passes(target, container))
        except TooLate as late:
            self.fail(f"{late}\n{self.logs()}")

    def stop(self, target: str, container: subprocess.Popen) -> None:
        """Stops it as a runtime does, with the image's signal to process 1."""
        os.kill(self.process_1(container), signal.Signals[STAGES[target].last("STOPSIGNAL")])
        try:
            self.assertEqual(container.wait(60), 0, self.logs())
        except subprocess.TimeoutExpired:
            self.fail(f"{target} did not stop:\n{self.logs()}")

    def start_coordinator(self) -> subprocess.Popen:
        coordinator = self.start("coordinator", "coordinator", *self.services["coordinator"]["command"])
        self.await_health("coordinator", coordinator)
        return coordinator

    def start_worker(self, name: str) -> subprocess.Popen:
        words = self.services[name]["command"]
        return self.start(name, "worker", *words, "--trainer", str(PROGRAMS / "tests/fake_trainer"))

    def test_all_of_compose_is_healthy_and_each_program_stops_as_process_1(self):
        coordinator = self.start_coordinator()
        workers = {name: self.start_worker(name) for name in ("worker-0", "worker-1")}
        for worker in workers.values():
            self.await_health("worker", worker)
        names = {self.services[name]["command"][1] for name in workers}

        def listed() -> bool:
            said = run(PROGRAMS / "bin/dtctl", "get", "workers", "-o", "json", env={"HOME": str(self.path)})
            return {one["worker"] for one in json.loads(said)["items"]} == names

        until("both workers are there", listed)
        self.stop("coordinator", coordinator)
        self.assertFalse(self.passes("coordinator", workers["worker-0"]), "with nobody there")
        for worker in workers.values():
            self.stop("worker", worker)

    def test_a_worker_is_healthy_without_a_coordinator_and_not_while_it_stands_still(self):
        worker = self.start_worker("worker-0")
        self.await_health("worker", worker)
        process, file = self.process_1(worker), STAGES["worker"].word_after("--alive-file")
        grow_old(process, file, 3600)
        self.await_health("worker", worker)
        stand_still(process)
        grow_old(process, file, 20)
        self.assertTrue(self.passes("worker", worker), "it may stand still for a minute")
        grow_old(process, file, 70)
        self.assertFalse(self.passes("worker", worker))
        os.kill(process, signal.SIGCONT)
        self.await_health("worker", worker)
        self.stop("worker", worker)

    def test_a_flag_that_a_program_does_not_know_would_be_found(self):
        container = self.start("wrong", "worker", "--no-such-flag")
        self.assertEqual(container.wait(60), 2, self.logs())


def main() -> int:
    """Runs itself again in namespaces, in which it may replace /run and /var/lib and port 7601 is free."""
    inside = INSIDE in sys.argv
    if inside:
        sys.argv.remove(INSIDE)
    Running.build = pathlib.Path(sys.argv.pop(1)).resolve()
    if not inside:
        spaces = [*UNSHARE, "--net", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
        try:
            refused = subprocess.run([*spaces, "mount", "-t", "tmpfs", "tmpfs", "/run"], capture_output=True, text=True,
                                     timeout=60, check=False)
            reason = refused.stderr.partition("\n")[0] if refused.returncode else ""
        except FileNotFoundError:
            reason = "there is no unshare (package util-linux)"
        if not reason:
            os.execvp(spaces[0], [*spaces, sys.executable, "-B", __file__, str(Running.build), INSIDE, *sys.argv[1:]])
        Running.__unittest_skip__ = True
        Running.__unittest_skip_why__ = f"name spaces are refused here: {reason}"
    return 0 if unittest.main(verbosity=2, exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
