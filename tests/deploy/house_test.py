"""The Debian packages on a Debian: installed, upgraded, removed, purged, and run by a systemd that is booted for it.

usage: house_test.py BUILD_DIR     exits 77 with the reason if that cannot be done

In a systemd-nspawn with its own network: units, a sweep on two CPU workers, a killed worker, workers that stop with a
checkpoint, a coordinator that hangs, the journal, an upgrade under a trial that trains, removal.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from debian_root import DebianRoot, make_base, run, why_not
from until import until

SKIPPED = 77
WORDS = "the ranks of a gang average their gradients and a journal keeps every fact of it".split()
EXPERIMENT = """
version: 1
name: {name}
parameters: {{optimizer.lr: {rates}}}
resources: {{gpus: 2, device: cpu}}
data: {{train: "house/train_*.bin", val: "house/val_*.bin", tokenizer: byte}}
model: {{preset: gpt2, n_layer: 1, n_head: 2, n_embd: 32, n_ff: 64, n_positions: 32}}
train: {{batch_size: 2, seq_len: 32, max_steps: {steps}}}
eval: {{every: 100000, batches: 1}}
checkpoint: {{every: {every}}}
"""
PROJECT = (pathlib.Path(__file__).resolve().parents[2] / "CMakeLists.txt").read_text()
LATER = re.search(r"project\(dtrain VERSION (\S+)", PROJECT)[1] + "-2"
INSTALL = "apt-get -q -y --no-install-recommends -o Dpkg::Options::=--force-confold install"


def later_version(deb: pathlib.Path, folder: pathlib.Path) -> None:
    """Makes the next version of a package, with a line more in its default settings."""
    tree = folder / "tree"
    run("dpkg-deb", "-R", deb, tree)
    control = tree / "DEBIAN/control"
    version = next(line.split()[1] for line in control.read_text().splitlines() if line.startswith("Version: "))
    control.write_text(control.read_text().replace(version, LATER))
    for settings in tree.glob("etc/dtrain/*.env"):
        settings.write_text(settings.read_text() + "# of the later version\n")
    run("dpkg-deb", "-Znone", "-b", tree, folder / f"{deb.name.split('_')[0]}_{LATER}.deb")
    shutil.rmtree(tree)


class House(unittest.TestCase):
    build: pathlib.Path

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="dtrain-test-", dir="/var/tmp")
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)
        cls.shared = cls.path / "shared"
        for name in ("now", "later"):
            (cls.shared / name).mkdir(parents=True)
        run("cpack", "-B", cls.path / "made", "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", cwd=cls.build)
        for deb in (cls.path / "made").glob("*.deb"):
            deb.rename(cls.shared / "now" / deb.name)
        shutil.rmtree(cls.path / "made")
        for deb in sorted((cls.shared / "now").glob("*.deb")):
            later_version(deb, cls.shared / "later")
        texts = cls.shared / "texts"
        texts.mkdir()
        for i in range(8):
            lines = (" ".join(WORDS[(i + j + k * j) % len(WORDS)] for k in range(12)) for j in range(400))
            (texts / f"{i}.txt").write_text("\n".join(lines))
        cls.base = cls.path / "base.tar"
        make_base(cls.base, ["systemd", "systemd-sysv", "dbus"])

    def root(self) -> DebianRoot:
        return DebianRoot(self.path, self.base, self.shared)

    def test_lintian_finds_nothing(self):
        if shutil.which("lintian") is None:
            self.skipTest("lintian is not installed (package lintian; ./dev setup --house)")
        said = subprocess.run(["lintian", "--no-cfg", "--allow-root", *(self.shared / "now").glob("*.deb")],
                              capture_output=True, text=True, timeout=1200, check=False)
        self.assertEqual((said.returncode, said.stdout), (0, ""), said.stderr)

    def test_all_packages_install_on_and_leave_a_bare_debian(self):
        with self.root() as root:
            root.sh(f"apt-get -q update; {INSTALL} /srv/shared/now/*.deb")
            # Accounts and folders exist; nothing is enabled.
            self.assertIn(":/var/lib/dtrain:/usr/sbin/nologin", root.sh("getent passwd dtrain"))
            self.assertIn(":/var/lib/dtrain-worker:/usr/sbin/nologin", root.sh("getent passwd dtrain-worker"))
            self.assertNotIn("dtrain", root.sh("id -Gn dtrain-worker").split())
            self.assertEqual(root.sh("stat -c '%U:%G %a' /etc/dtrain /etc/dtrain/tls").split("\n")[:2],
                             ["root:dtrain-settings 750"] * 2)
            enabled = root.sh("find /etc/systemd -name 'dt*'; systemctl is-enabled dtcoord || true")
            self.assertEqual(enabled, "disabled\n")
            for program in ("dtcoord", "dtworker", "dtprogram", "dttrain", "dtctl"):
                self.assertIn(program, root.sh(f"{program} --version"))
            # An upgrade keeps settings that an administrator changed.
            root.sh("echo 'DTCOORD_FLAGS=--metrics-max-trials 7 --tls-ca /etc/dtrain/tls/ca.crt"
                    " --tls-key /etc/dtrain/tls/coordinator.key' >/etc/dtrain/coordinator.env")
            self.as_before_workers_had_an_account(root)
            root.sh(f"{INSTALL} /srv/shared/later/*.deb")
            self.workers_have_what_is_theirs(root)
            self.assertEqual(root.sh("dpkg-query -W -f '${Version}\\n' 'dtrain-*' | sort -u"), f"{LATER}\n")
            self.assertIn("--metrics-max-trials 7", root.sh("cat /etc/dtrain/coordinator.env"))
            self.assertIn("of the later version", root.sh("cat /etc/dtrain/coordinator.env.dpkg-dist"))
            self.assertIn("of the later version", root.sh("cat /etc/dtrain/worker.env.dpkg-dist"))
            # Files that an administrator made stay through removal and purge.
            root.sh("touch /var/lib/dtrain/journal.db"
                    " /var/lib/dtrain-worker/mine /etc/dtrain/tls/own.key")
            root.sh("apt-get -q -y remove 'dtrain-*'")
            self.assertEqual(root.sh("ls /usr/bin/dt* /usr/lib/dtrain 2>/dev/null || true"), "")
            self.assertIn("--metrics-max-trials 7", root.sh("cat /etc/dtrain/coordinator.env"))
            root.sh("apt-get -q -y purge 'dtrain-*'")
            left = root.sh("find /etc/dtrain /var/lib/dtrain /var/lib/dtrain-worker -type f | sort").split()
            keys = [f"/etc/dtrain/tls/{name}" for name in ("ca.crt", "coordinator.key", "own.key", "worker.key")]
            self.assertEqual(left, [*keys, "/var/lib/dtrain-worker/mine", "/var/lib/dtrain-worker/storage/1",
                                    "/var/lib/dtrain/journal.db"])

    def as_before_workers_had_an_account(self, root: DebianRoot) -> None:
        root.sh("echo 'DTWORKER_FLAGS=--tls-ca /etc/dtrain/tls/ca.crt --tls-key /etc/dtrain/tls/worker.key'"
                " >/etc/dtrain/worker.env; cd /etc/dtrain/tls; touch ca.crt coordinator.key worker.key;"
                " chown root:dtrain *; chmod 640 *; install -d -o dtrain -g dtrain -m 750 /var/lib/dtrain"
                " /var/lib/dtrain-worker /var/lib/dtrain-worker/storage; touch /var/lib/dtrain-worker/storage/1;"
                " chown dtrain:dtrain /var/lib/dtrain-worker/storage/1")

    def workers_have_what_is_theirs(self, root: DebianRoot) -> None:
        owners = root.sh("cd /etc/dtrain/tls; stat -c %U:%G ca.crt coordinator.key worker.key"
                         " /var/lib/dtrain-worker/storage/1 /var/lib/dtrain-worker /var/lib/dtrain").split()
        self.assertEqual(owners, ["root:dtrain-settings", "root:dtrain", "root:dtrain-worker",
                                  "dtrain-worker:dtrain-worker", "dtrain-worker:dtrain-worker", "dtrain:dtrain"])
        for account, own, other in (("dtrain", "coordinator", "worker"), ("dtrain-worker", "worker", "coordinator")):
            may = f"setpriv --reuid={account} --regid={account} --init-groups test -r /etc/dtrain/tls"
            root.sh(f"{may}/{own}.key; {may}/ca.crt; ! {may}/{other}.key")
        root.sh("! setpriv --reuid=dtrain-worker --regid=dtrain-worker --init-groups ls /var/lib/dtrain 2>/dev/null")

    def test_a_booted_debian_trains_recovers_upgrades_and_is_purged(self):
        with self.root() as root:
            root.sh(f"apt-get -q update; {INSTALL} /srv/shared/now/*.deb")
            # The watchdog notices a hang in seconds instead of half a minute.
            root.sh("mkdir -p /etc/systemd/system/dtcoord.service.d; printf '[Service]\\nWatchdogSec=4\\n"
                    "TimeoutAbortSec=2\\n' >/etc/systemd/system/dtcoord.service.d/test.conf;"
                    "echo 'DTWORKER_FLAGS=--slots 2 --threads 1' >/etc/dtrain/worker.env")
            root.boot()
            house = Running(self, root)
            house.nothing_runs_until_it_is_asked_for()
            house.a_sweep_trains_on_two_workers()
            house.a_killed_worker_is_restarted_and_its_trial_goes_on()
            house.stopped_workers_leave_a_checkpoint_and_it_is_resumed_from()
            house.a_coordinator_that_hangs_is_restarted_under_a_trial_that_trains()
            house.journald_has_what_programs_say_with_its_weight()
            house.an_upgrade_restarts_what_runs_and_loses_nothing()
            house.removed_it_stops_and_purged_it_leaves_the_journal_and_checkpoints()


class Running:
    """The steps of the test on the booted Debian, in order."""

    def __init__(self, test: unittest.TestCase, root: DebianRoot):
        self.test = test
        self.root = root
        self.workers = ["dtworker@cpu:0", "dtworker@cpu:1"]

    def shown(self, unit: str, name: str) -> str:
        return self.root.sh(f"systemctl show --value -p {name} '{unit}'").strip()

    def dtctl(self, words: str, seconds: float = 60):
        return json.loads(self.root.sh(f"dtctl {words} -o json", seconds=seconds))

    def trial(self, name: str) -> dict:
        return self.dtctl(f"explain {name}")

    def step(self, name: str) -> int:
        trial = self.trial(name)
        self.test.assertIn(trial["state"], ("pending", "starting", "running", "queued", "waiting"), trial)
        return (trial.get("latest") or {}).get("step") or 0

    def active(self, *units: str) -> None:
        for unit in units:
            until(f"{unit} is active", lambda unit=unit: self.shown(unit, "ActiveState") == "active", 60)

    def connected(self) -> None:
        until("both workers are connected", lambda: len(
            [one for one in self.dtctl("get workers")["items"] if one["state"] != "lost"]) == 2, 60)

    def submit(self, name: str, **values) -> None:
        (self.root.shared / f"{name}.yaml").write_text(EXPERIMENT.format(name=name, **values))
        self.root.sh(f"dtctl submit /srv/shared/{name}.yaml")

    def nothing_runs_until_it_is_asked_for(self) -> None:
        for unit in ("dtcoord", *self.workers):
            self.test.assertEqual(self.shown(unit, "ActiveState"), "inactive")
        self.root.sh("systemctl enable --now dtcoord dtworker.target " + " ".join(self.workers))
        self.active("dtcoord", "dtworker.target", *self.workers)
        self.connected()

    def a_sweep_trains_on_two_workers(self) -> None:
        self.root.sh("dtctl data tokenize --tokenizer byte --output /var/lib/dtrain-worker/data/house"
                     " /srv/shared/texts")
        self.submit("sweep", rates="[3.0e-4, 1.0e-3]", steps=40, every=20)
        self.root.sh("dtctl wait last", seconds=240)
        trials = self.dtctl("get trials last")["items"]
        self.test.assertEqual([(one["state"], one["latest"]["step"]) for one in trials], [("finished", 40)] * 2)
        # Each file is written by the service's own account, in its folder.
        self.test.assertEqual(self.root.sh("stat -c %U /var/lib/dtrain/journal.db /var/lib/dtrain-worker/storage/1"),
                              "dtrain\ndtrain-worker\n")

    def a_killed_worker_is_restarted_and_its_trial_goes_on(self) -> None:
        self.submit("long", rates="[1.0e-3]", steps=100000000, every=50)
        step = until("it trains past a checkpoint", lambda: self.step("last/1") > 60 and self.step("last/1"), 120)
        before = self.shown(self.workers[0], "MainPID")
        self.root.sh(f"kill -KILL {before}")
        until("systemd restarted it", lambda: self.shown(self.workers[0], "NRestarts") == "1", 60)
        self.active(self.workers[0])
        self.test.assertNotEqual(self.shown(self.workers[0], "MainPID"), before)
        until("a second attempt trains on", lambda: self.attempt() == 2 and self.step("last/1") > step + 50, 120)

    def attempt(self) -> int:
        return self.trial("last/1")["attempt_list"][-1]["attempt"]

    def stopped_workers_leave_a_checkpoint_and_it_is_resumed_from(self) -> None:
        self.root.sh("systemctl stop dtworker.target")
        for unit in self.workers:
            until(f"{unit} has stopped", lambda unit=unit: self.shown(unit, "ActiveState") != "deactivating", 150)
            self.test.assertEqual((self.shown(unit, "ActiveState"), self.shown(unit, "Result")),
                                  ("inactive", "success"))
        ended = until("the attempt is over", lambda: next(
            (one for one in self.trial("last/1")["attempt_list"] if one["attempt"] == 2 and one["cause"]), None), 30)
        self.test.assertEqual(ended["cause"], "preempted", ended)
        steps = sorted(one["step"] for one in self.dtctl("get checkpoints last")["items"])
        self.root.sh("systemctl start dtworker.target " + " ".join(self.workers))
        self.connected()
        until("a third attempt trains", lambda: self.attempt() == 3 and self.step("last/1") > steps[-1], 120)
        # The stop caused a checkpoint too, not only multiples of 50.
        rows = self.root.sh("dtctl metrics last -o jsonl", seconds=120).splitlines()
        third = [json.loads(row)["step"] for row in rows if json.loads(row).get("attempt") == 3]
        self.test.assertEqual(min(third), steps[-1] + 1)

    def a_coordinator_that_hangs_is_restarted_under_a_trial_that_trains(self) -> None:
        before = self.shown("dtcoord", "MainPID")
        trainers = self.root.sh("pidof dttrain | tr ' ' '\\n' | sort")
        self.root.sh(f"kill -STOP {before}")
        until("systemd's watchdog restarted it", lambda: self.shown("dtcoord", "NRestarts") == "1", 60)
        self.active("dtcoord")
        self.test.assertNotEqual(self.shown("dtcoord", "MainPID"), before)
        self.test.assertIn("Watchdog timeout", self.root.sh("journalctl --no-pager -u dtcoord"))
        now = until("it answers", lambda: self.step("last/1"), 60)
        until("the same attempt goes on", lambda: self.step("last/1") > now, 60)
        self.test.assertEqual(self.attempt(), 3)
        self.test.assertEqual(self.root.sh("pidof dttrain | tr ' ' '\\n' | sort"), trainers)

    def journald_has_what_programs_say_with_its_weight(self) -> None:
        for unit in ("dtcoord", self.workers[0]):
            lines = self.root.sh(f"journalctl --no-pager -o json -u '{unit}' _COMM={unit.split('@')[0]}").splitlines()
            entries = [json.loads(line) for line in lines]
            self.test.assertIn("6", {entry["PRIORITY"] for entry in entries})
            # The journal reads the priority from the line and does not show it.
            self.test.assertFalse([entry for entry in entries if str(entry["MESSAGE"]).startswith("<")])
        warned = self.root.sh("journalctl --no-pager -u dtcoord -p warning -o cat")
        self.test.assertIn("the last stop was not clean", warned)

    def an_upgrade_restarts_what_runs_and_loses_nothing(self) -> None:
        before = [self.shown(unit, "MainPID") for unit in ("dtcoord", *self.workers)]
        settings = self.root.sh("cat /etc/dtrain/worker.env")
        step = self.step("last/1")
        self.root.sh("dpkg --force-confold -i /srv/shared/later/*.deb", seconds=300)
        self.active("dtcoord", *self.workers)
        after = [self.shown(unit, "MainPID") for unit in ("dtcoord", *self.workers)]
        self.test.assertFalse(set(before) & set(after), "all run the new programs")
        self.test.assertEqual(self.root.sh("cat /etc/dtrain/worker.env"), settings)
        self.connected()
        until("the trial goes on", lambda: self.attempt() > 3 and self.step("last/1") > step, 120)
        states = [one["state"] for one in self.dtctl("get trials 1")["items"]]
        self.test.assertEqual(states, ["finished"] * 2)

    def removed_it_stops_and_purged_it_leaves_the_journal_and_checkpoints(self) -> None:
        self.root.sh("apt-get -q -y remove 'dtrain-*'", seconds=300)
        self.test.assertEqual(self.root.sh("pidof dtcoord dtworker dttrain || true"), "")
        self.root.sh("apt-get -q -y purge 'dtrain-*'")
        self.test.assertEqual(self.root.sh("find /etc/dtrain /etc/systemd -name 'dt*' -not -path '*.d*'"
                                           " -not -name '*.d' || true"), "")
        self.test.assertEqual(self.root.sh("ls /var/lib/dtrain/journal.db; ls -d /var/lib/dtrain-worker/storage/2"),
                              "/var/lib/dtrain/journal.db\n/var/lib/dtrain-worker/storage/2\n")
        self.test.assertEqual(self.root.sh("systemctl --failed --no-legend 'dt*' || true"), "")


if __name__ == "__main__":
    House.build = pathlib.Path(sys.argv.pop(1)).resolve()
    reason = why_not("cpack", "dpkg-shlibdeps", "mmdebstrap", "systemd-nspawn", "nsenter")
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main()
