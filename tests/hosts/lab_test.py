"""Tests of the hosts themselves: what is theirs alone, which frames pass, and that nothing outlives them.

usage: lab_test.py SWITCH PROGRAMS [TEST…]
"""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

import namespaces
from lab import Host, Lab

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from until import until  # noqa: E402

PORT = 7000  # free on every host: its network has nobody else
SWITCH = pathlib.Path()


class Sockets:
    """A socket for datagrams on each host, at its address."""

    def __init__(self, test: unittest.TestCase, lab: Lab, names: str, version: int = 4):
        self._of: dict[str, socket.socket] = {}
        self._address: dict[str, str] = {}
        for name in names.split():
            host: Host = lab[name]
            self._address[name] = host.address if version == 4 else host.address6
            with host.network():
                made = socket.socket(socket.AF_INET if version == 4 else socket.AF_INET6, socket.SOCK_DGRAM)
            test.addCleanup(made.close)
            made.bind((self._address[name], PORT))
            made.setblocking(False)
            self._of[name] = made

    def send(self, source: str, target: str, text: str) -> None:
        self._of[source].sendto(text.encode(), (self._address[target], PORT))

    def receive(self, target: str) -> str:
        """Waits for the next datagram."""
        def take():
            try:
                return self._of[target].recv(2000).decode()
            except BlockingIOError:
                return None
        return until(f"a datagram at {target}", take, 30)

    def expect(self, source: str, target: str) -> None:
        """Expects that a datagram gets through."""
        text = f"{source} to {target}"
        self.send(source, target, text)
        assert self.receive(target) == text


class LabTest(unittest.TestCase):
    kind = ""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="dtrain-hosts-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def make(self, *names: str) -> Lab:
        self.lab = self.enterContext(Lab(SWITCH, self.folder, list(names), self.kind))
        return self.lab

    def expect_cut(self, sockets: Sockets, source: str, target: str) -> None:
        """Expects that the switch drops a datagram, by its own count."""
        before = self.lab.counts(source, target)["cut"]
        sockets.send(source, target, "lost")
        until("the switch drops it", lambda: self.lab.counts(source, target)["cut"] > before, 30)


class FramesTest(LabTest):
    def test_frames_pass_until_a_cut_and_again_once_it_is_healed(self):
        lab = self.make("alpha", "beta", "gamma")
        for version in (4, 6):
            sockets = Sockets(self, lab, "alpha beta gamma", version)
            sockets.expect("alpha", "beta")
            sockets.expect("beta", "alpha")
            lab.cut("alpha", "beta")
            self.expect_cut(sockets, "alpha", "beta")
            self.expect_cut(sockets, "beta", "alpha")
            sockets.expect("alpha", "gamma")
            sockets.expect("gamma", "beta")
            lab.heal()
            sockets.expect("alpha", "beta")
            sockets.expect("beta", "alpha")

    def test_a_cut_of_one_way_leaves_the_other(self):
        lab = self.make("alpha", "beta")
        sockets = Sockets(self, lab, "alpha beta")
        sockets.expect("alpha", "beta")  # each knows the other's hardware address afterwards
        lab.cut("alpha", "beta", both=False)
        self.expect_cut(sockets, "alpha", "beta")
        sockets.expect("beta", "alpha")

    def test_a_host_can_be_cut_from_all_and_the_desk_too(self):
        lab = self.make("alpha", "beta", "gamma")
        sockets = Sockets(self, lab, "alpha beta gamma")
        lab.cut("gamma")
        for other in ("alpha", "beta"):
            self.expect_cut(sockets, "gamma", other)
            self.expect_cut(sockets, other, "gamma")
        sockets.expect("alpha", "beta")
        before = lab.counts("desk", "gamma")["cut"]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as desk:
            desk.sendto(b"lost", (lab["gamma"].address, PORT))
            until("the switch drops it", lambda: lab.counts("desk", "gamma")["cut"] > before, 30)

    def test_frames_keep_their_order_under_a_drawn_delay(self):
        lab = self.make("alpha", "beta")
        sockets = Sockets(self, lab, "alpha beta")
        sockets.expect("alpha", "beta")
        lab.rule("alpha", "beta", delay=10, jitter=10)
        sent = [str(number) for number in range(200)]
        for text in sent:
            sockets.send("alpha", "beta", text)
        self.assertEqual([sockets.receive("beta") for _ in sent], sent)

    def test_some_are_lost_and_some_overtake(self):
        lab = self.make("alpha", "beta")
        sockets = Sockets(self, lab, "alpha beta")
        sockets.expect("alpha", "beta")
        lab.rule("alpha", "beta", loss=20, delay=100, reorder=20)
        for number in range(200):
            sockets.send("alpha", "beta", str(number))
        until("all have come to the switch", lambda: sum(lab.counts("alpha", "beta").values()) >= 200, 30)
        counts = lab.counts("alpha", "beta")
        self.assertGreater(counts["lost"], 0)
        lab.heal()
        sockets.send("alpha", "beta", "last")
        got = [int(text) for text in iter(lambda: sockets.receive("beta"), "last")]
        self.assertLess(len(got), 200)
        self.assertNotEqual(got, sorted(got))

    def test_a_connection_brings_every_byte_through_a_bad_network(self):
        lab = self.make("alpha", "beta")
        lab.rule("*", "*", delay=2, jitter=1, loss=3, reorder=10)
        sent = os.urandom(200_000)
        with lab["beta"].network():
            server = socket.create_server((lab["beta"].address, PORT))
        with lab["alpha"].network():
            client = socket.socket()
        with server, client:
            server.settimeout(60)
            client.settimeout(60)
            client.connect((lab["beta"].address, PORT))
            sender = threading.Thread(target=lambda: (client.sendall(sent), client.shutdown(socket.SHUT_WR)))
            sender.start()
            taken, _ = server.accept()
            with taken:
                taken.settimeout(60)
                got = b"".join(iter(lambda: taken.recv(65536), b""))
            sender.join(timeout=60)
        self.assertEqual(got, sent)


class PacketFramesTest(FramesTest):
    """The same on a machine without /dev/net/tun."""
    kind = "packet"


class HostTest(LabTest):
    def test_a_host_has_its_own_name_processes_and_memory(self):
        lab = self.make("alpha", "beta")
        waiting = lab["alpha"].start("waiting", ["bash", "-c", "touch /dev/shm/mine && echo up && exec sleep 1000"])
        until("it runs", lambda: "up" in (self.folder / "waiting.log").read_text(), 30)
        self.assertEqual(lab["alpha"].run("hostname"), "alpha\n")
        self.assertEqual(lab["beta"].run("hostname"), "beta\n")
        self.assertIn("mine", lab["alpha"].run("ls", "/dev/shm"))
        self.assertEqual(lab["beta"].run("ls", "/dev/shm"), "")
        self.assertIn("sleep", lab["alpha"].run("bash", "-c", "cat /proc/[0-9]*/comm"))
        self.assertNotIn("sleep", lab["beta"].run("bash", "-c", "cat /proc/[0-9]*/comm"))
        self.assertIn(lab["beta"].address, lab["alpha"].run("getent", "hosts", "beta.example"))
        self.assertEqual(lab["alpha"].processes("sleep"), [waiting.pid])
        waiting.kill()
        self.assertEqual(lab["alpha"].processes("sleep"), [])

    def test_a_power_cut_ends_everything_there_and_the_host_comes_back(self):
        lab = self.make("alpha", "beta")
        waiting = lab["beta"].start("waiting", ["sleep", "1000"])
        lab["beta"].power_off()
        until("its end", lambda: waiting.ended() is not None, 30)
        lab["beta"].power_on()
        Sockets(self, lab, "alpha beta").expect("alpha", "beta")

    def test_nothing_outlives_a_test_that_is_killed(self):
        for end in (signal.SIGKILL, signal.SIGTERM):
            mark = f"1000.{os.getpid()}{int(end)}"
            runner = subprocess.Popen([sys.executable, "-B", __file__, str(SWITCH), "-", "--wait", mark],
                                      stdout=subprocess.PIPE, text=True)
            self.addCleanup(runner.stdout.close)
            self.assertEqual(runner.stdout.readline(), "up\n")
            self.assertTrue(self.with_argument(mark))
            runner.send_signal(end)
            runner.wait(timeout=60)
            until("all are gone", lambda mark=mark: not self.with_argument(mark), 60)

    @staticmethod
    def with_argument(mark: str) -> list[str]:
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                arguments = (entry / "cmdline").read_text().split("\0")
            except OSError:
                continue  # it has ended
            if mark in arguments and "--wait" not in arguments:
                found.append(" ".join(arguments))
        return found


def wait_with(mark: str) -> None:
    """Runs a program on a host and waits to be killed."""
    with tempfile.TemporaryDirectory(prefix="dtrain-hosts-") as folder:
        with Lab(SWITCH, pathlib.Path(folder), ["alpha"]) as lab:
            lab["alpha"].start("waiting", ["sleep", mark])
            print("up", flush=True)
            signal.pause()


if __name__ == "__main__":
    namespaces.enter()
    SWITCH = pathlib.Path(sys.argv.pop(1)).resolve()
    sys.argv.pop(1)  # no programs of ours run here
    if "--wait" in sys.argv:
        wait_with(sys.argv[-1])
    unittest.main(verbosity=2)
