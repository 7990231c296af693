"""Tests of tools/turns.py."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import turns  # noqa: E402

PATHS = {"a_test": ["common/"], "b_test": ["coordinator/core/", "tests/coordinator/core/"], "c_test": ["spec/"],
         "d_test": ["worker/program/"]}


class TurnsTest(unittest.TestCase):
    def test_each_thing_has_its_turn_within_three_hashes(self):
        self.assertEqual(turns.chosen(PATHS, "09", []), ["a_test", "d_test"])
        self.assertEqual(turns.chosen(PATHS, "0a", []), ["b_test"])
        self.assertEqual(turns.chosen(PATHS, "0b", []), ["c_test"])

    def test_what_changed_runs_always(self):
        for path in ("coordinator/core/run/a.cc", "tests/coordinator/core/a_test.cc"):
            self.assertEqual(turns.chosen(PATHS, "0b", [path]), ["b_test", "c_test"])
        self.assertEqual(turns.chosen(PATHS, "0b", ["coordinator/corex/a.cc"]), ["c_test"])

    def test_the_room_of_a_test_is_the_folder_in_which_it_runs(self):
        def listed(name, labels):
            return {"name": name, "properties": [{"name": "LABELS", "value": labels},
                                                 {"name": "WORKING_DIRECTORY", "value": "/b/tests/worker/program"}]}
        listing = {"tests": [listed("a_test", ["sanitized", "unit"]), listed("b_test", ["unit"])]}
        self.assertEqual(turns.paths_of_tests(listing, "sanitized", "/b"),
                         {"a_test": ["worker/program/", "tests/worker/program/"]})

    def test_a_new_seed_gives_its_fuzz_target_a_turn(self):
        paths = turns.paths_of_fuzz_targets(["act_fuzz", "http_fuzz", "pack_fuzz"])
        self.assertEqual(turns.chosen(paths, "0b", ["tests/fuzz/seeds/act_fuzz/a"]), ["act_fuzz", "pack_fuzz"])
        self.assertEqual(turns.chosen(paths, "0b", ["tests/fuzz/http_fuzz.cc"]), ["http_fuzz", "pack_fuzz"])


if __name__ == "__main__":
    unittest.main()
