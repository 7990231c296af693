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

    def test_the_room_of_a_test_is_the_folder_that_declares_it(self):
        listing = {
            "backtraceGraph": {
                "files": ["/r/cmake/Rooms.cmake", "/r/tests/worker/program/CMakeLists.txt"],
                "nodes": [{"file": 1}, {"file": 1, "parent": 0}, {"file": 0, "parent": 1}]},
            "tests": [
                {"name": "a_test", "backtrace": 2, "properties": [{"name": "LABELS", "value": ["sanitized", "unit"]}]},
                {"name": "b_test", "backtrace": 2, "properties": [{"name": "LABELS", "value": ["unit"]}]}]}
        self.assertEqual(turns.rooms(listing, "/r"), {"a_test": "worker/program"})


if __name__ == "__main__":
    unittest.main()
