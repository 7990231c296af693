"""Tests of tools/turns.py."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import turns  # noqa: E402

ROOMS = {"a_test": "common", "b_test": "coordinator/core", "c_test": "spec", "d_test": "worker/program"}


class TurnsTest(unittest.TestCase):
    def test_each_test_has_its_turn_within_two_hashes(self):
        self.assertEqual(turns.chosen(ROOMS, "0a", []), ["a_test", "c_test"])
        self.assertEqual(turns.chosen(ROOMS, "0b", []), ["b_test", "d_test"])

    def test_tests_of_changed_rooms_run_always(self):
        for path in ("coordinator/core/run/a.cc", "tests/coordinator/core/a_test.cc"):
            self.assertEqual(turns.chosen(ROOMS, "0a", [path]), ["a_test", "b_test", "c_test"])
        self.assertEqual(turns.chosen(ROOMS, "0a", ["coordinator/corex/a.cc"]), ["a_test", "c_test"])

    def test_the_room_of_a_test_is_the_folder_in_which_it_runs(self):
        def listed(name, labels):
            return {"name": name, "properties": [{"name": "LABELS", "value": labels},
                                                 {"name": "WORKING_DIRECTORY", "value": "/b/tests/worker/program"}]}
        listing = {"tests": [listed("a_test", ["sanitized", "unit"]), listed("b_test", ["unit"])]}
        self.assertEqual(turns.rooms(listing, "/b"), {"a_test": "worker/program"})


if __name__ == "__main__":
    unittest.main()
