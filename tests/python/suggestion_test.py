"""Parameters in an objective's words, as the coordinator gets them."""

import unittest

import dtrain
from dtrain._suggestion import Choices, float_parameter, int_parameter


class SuggestionTest(unittest.TestCase):
    def test_ranges_end_at_a_multiple_of_their_step(self) -> None:
        self.assertEqual(int_parameter("n", 1, 10, 4, False).range.max, 9)
        self.assertAlmostEqual(float_parameter("x", 0, 1, 0.3, False).range.max, 0.9)
        self.assertEqual(float_parameter("x", 0, 0.3, 0.1, False).range.max, 0.1 * 3)
        self.assertEqual(float_parameter("x", 1e-5, 1e-1, None, True).range.scale, "log")

    def test_a_range_of_one_value_is_a_list_of_it(self) -> None:
        self.assertEqual(int_parameter("n", 3, 3, 1, False).values[0].integer, 3)
        self.assertEqual(float_parameter("x", 0.5, 0.5, None, False).values[0].number, 0.5)

    def test_a_choice_comes_back_as_the_callers_own_value(self) -> None:
        for choices in ([None, 3, "a"], [True, False], [1, 0.5], ["x"], [(1, 2), (3, 4)]):
            made = Choices.among("c", choices)
            for sent, choice in zip(made.parameter.values, choices):
                value = getattr(sent, sent.WhichOneof("kind"))
                self.assertIs(made.original(value), choice)

    def test_what_cannot_be_a_parameter_is_refused(self) -> None:
        for wrong in (lambda: float_parameter("x", 1, 0, None, False), lambda: float_parameter("x", 0, 1, None, True),
                      lambda: float_parameter("x", 1, 2, 0.1, True), lambda: int_parameter("n", 1, 2, 0, False),
                      lambda: int_parameter("n", 1, 2.5, 1, False), lambda: Choices.among("c", []),
                      lambda: int_parameter("n", 1, float("inf"), 1, False),
                      lambda: float_parameter("x", 0, float("inf"), 0.1, False),
                      lambda: Choices.among("c", [1, 1]), lambda: float_parameter("x", float("nan"), 1, None, False)):
            with self.assertRaises(dtrain.UsageError):
                wrong()


if __name__ == "__main__":
    unittest.main()
