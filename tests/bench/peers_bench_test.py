"""The benchmark beside other systems, at a tiny size: dtrain and each installed peer has a figure in every row.

usage: peers_bench_test.py PEERS_BENCH PROGRAMS_DIR WHEEL     exits 77 if no Python has grpcio

No figure is judged. A peer that is not installed is named.
"""

import os
import pathlib
import subprocess
import sys
import unittest

BENCH, PROGRAMS, WHEEL = sys.argv[1:4]
SKIPPED = 77
PEERS = {"hyperqueue_peer.py": ["HyperQueue"], "ray_peer.py": ["Ray"], "optuna_peer.py": ["Optuna"]}
# The columns that are empty for a system, since it cannot tell, or does not do it.
EMPTY = {"server, MiB", "workers, MiB", "both, MiB"}


def tables(printed: str) -> dict[str, tuple[list[str], dict[str, list[str]]]]:
    """Returns the columns and the rows of each table by its title."""
    found = {}
    for block in printed.split("\n### ")[1:]:
        lines = block.splitlines()
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
        found[lines[0]] = (cells[0][1:], {row[0]: row[1:] for row in cells[2:]})
    return found


class PeersBenchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        done = subprocess.run([sys.executable, "-B", BENCH, "--tiny", "--programs", PROGRAMS, "--wheel", WHEEL],
                              capture_output=True, text=True, check=False, timeout=580, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stderr
        cls.printed, cls.tables = done.stdout, tables(done.stdout)

    def test_every_table_has_figures_of_dtrain(self) -> None:
        self.assertEqual(len(self.tables), 4, self.printed)
        for title, (columns, rows) in self.tables.items():
            with self.subTest(title):
                self.assertTrue([label for label in rows if label.startswith("dtrain")], self.printed)
                for label, cells in rows.items():
                    empty = {column for column, cell in zip(columns, cells) if cell == "–"}
                    self.assertLessEqual(empty, EMPTY, f"{label}: {cells}")
                    self.assertGreater(float(cells[0].replace(",", "")), 0, label)

    def test_a_study_of_dtrain_is_a_row_of_its_own(self) -> None:
        rows = next(rows for title, (_, rows) in self.tables.items() if "reports" in title)
        self.assertIn("dtrain, a study", rows)

    def test_each_peer_has_rows_or_is_named_as_left_out(self) -> None:
        for file, labels in PEERS.items():
            for label in labels:
                shown = any(row.startswith(label) for _, rows in self.tables.values() for row in rows)
                self.assertTrue(shown or f"left out: {file}" in self.printed, self.printed)

    def test_versions_commands_and_the_machine_are_printed(self) -> None:
        for words in ("dtrain: dtrain ", "bench/peers/dtrain_peer.py programs --count ", " cores (", "medians of 1"):
            self.assertIn(words, self.printed)


if __name__ == "__main__":
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "dtrain"
    if not any((cache / name / "bin" / "python").exists() for name in ("peers", "python-client")):
        print(f"skipped: no Python of {cache} has grpcio; ./dev setup makes one, and says why it cannot")
        sys.exit(SKIPPED)
    del sys.argv[1:4]
    unittest.main(verbosity=2)
