"""dtctl's completion in the real shells that are installed; bash always is."""

import os
import pathlib
import pty
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from until import until  # noqa: E402

DTCTL = pathlib.Path(sys.argv.pop(1)).resolve()
DEADLINE_SECONDS = 30

# Loads the completion and binds Ctrl-X w to writing the current line into $LINE.
SETUP = {
    "bash": """
source <(dtctl completion bash)
bind 'set bell-style none'
show() { printf '%s' "$READLINE_LINE" >"$LINE.new"; mv "$LINE.new" "$LINE"; }
bind -x '"\\C-xw": show'
""",
    "zsh": """
autoload -Uz compinit && compinit -u -d "$HOME/.zcompdump"
source <(dtctl completion zsh)
unsetopt beep
show() { print -rn -- "$BUFFER" >"$LINE.new"; mv "$LINE.new" "$LINE"; }
zle -N show && bindkey '^Xw' show
""",
}
COMMANDS = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}


class Completion(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dtrain-test-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        (self.home / "grid one.yaml").touch()
        (self.home / "bin").mkdir()
        (self.home / "bin/dtctl").symlink_to(DTCTL)
        self.environment = {"HOME": str(self.home), "PATH": f"{self.home}/bin:/usr/bin:/bin", "TERM": "dumb",
                            "LANG": "C.UTF-8", "LINE": str(self.home / "line"), "PS1": "> ",
                            "DTCTL_ADDRESS": f"unix:{self.home}/none"}

    def completed(self, shell: str, typed: str) -> str:
        """Types the line and a TAB into the shell at a terminal; returns the completed line."""
        (self.home / "setup").write_text(SETUP[shell] + f'touch "{self.home}/ready"\n', encoding="utf-8")
        for name in ("ready", "line"):
            (self.home / name).unlink(missing_ok=True)
        ours, theirs = pty.openpty()
        process = subprocess.Popen(COMMANDS[shell], cwd=self.home, env=self.environment, stdin=theirs, stdout=theirs,
                                   stderr=theirs, start_new_session=True)
        os.close(theirs)
        said = bytearray()

        def read():
            try:
                while text := os.read(ours, 4096):
                    said.extend(text)
            except OSError:
                pass  # the shell has ended

        reader = threading.Thread(target=read)
        reader.start()
        try:
            os.write(ours, b"source ./setup\n")
            until(f"{shell} is ready: {bytes(said)!r}", (self.home / "ready").exists)
            os.write(ours, typed.encode() + b"\t\x18w")
            until(f"{shell} shows its line: {bytes(said)!r}", (self.home / "line").exists)
        finally:
            process.kill()
            process.wait()
            reader.join()
            os.close(ours)
        self.assertNotIn(b"unrecognized", said)
        return (self.home / "line").read_text(encoding="utf-8")

    def test_commands_values_files_and_experiments_in_bash_and_zsh(self):
        expected = {
            "dtctl desc": "dtctl describe ",
            "dtctl get tri": "dtctl get trials ",
            "dtctl wait last --fo": "dtctl wait last --for ",
            "dtctl wait last --for fi": "dtctl wait last --for first-step ",
            "dtctl cancel ": "dtctl cancel last ",
            "dtctl explain ": "dtctl explain last/",
            "dtctl --address 127.0.0.1:9 cancel ": "dtctl --address 127.0.0.1:9 cancel last ",
            "dtctl submit gr": "dtctl submit grid\\ one.yaml ",
            "dtctl get trials --output=js": "dtctl get trials --output=json ",
        }
        for shell in ("bash", "zsh"):
            if shutil.which(shell) is None:
                continue
            for typed, line in expected.items():
                with self.subTest(shell=shell, typed=typed):
                    self.assertEqual(self.completed(shell, typed), line)

    @unittest.skipIf(shutil.which("zsh") is None, "zsh is not installed")
    def test_the_file_of_zsh_works_from_fpath_too(self):
        functions = self.home / "zfunc"
        functions.mkdir()
        script = subprocess.run([DTCTL, "completion", "zsh"], check=True, capture_output=True, text=True).stdout
        (functions / "_dtctl").write_text(script, encoding="utf-8")
        was = SETUP["zsh"]
        self.addCleanup(SETUP.__setitem__, "zsh", was)
        SETUP["zsh"] = f"fpath=({functions} $fpath)\n" + was.replace("source <(dtctl completion zsh)\n", "")
        # The first TAB loads the file, and completes.
        self.assertEqual(self.completed("zsh", "dtctl desc"), "dtctl describe ")

    @unittest.skipIf(shutil.which("fish") is None, "fish is not installed")
    def test_fish_offers_words_with_descriptions(self):
        def offered(line: str) -> list[str]:
            script = f"dtctl completion fish | source; complete -C'{line}'"
            done = subprocess.run(["fish", "--no-config", "-c", script], cwd=self.home, env=self.environment,
                                  check=True, capture_output=True, text=True, timeout=DEADLINE_SECONDS)
            self.assertEqual(done.stderr, "")
            return done.stdout.splitlines()

        self.assertEqual(len(offered("dtctl desc")), 1)
        self.assertTrue(offered("dtctl desc")[0].startswith("describe\tEverything about"))
        self.assertEqual(offered("dtctl cancel "), ["last\tthe newest experiment"])
        self.assertEqual([one.split("\t")[0] for one in offered("dtctl get trials -o js")], ["json"])
        self.assertIn("grid one.yaml", "".join(offered("dtctl submit gr")).replace("\\ ", " "))


if __name__ == "__main__":
    unittest.main()
