"""How a step's gradients reach the session: all of them, in few calls, and no longer than anybody wants them."""
import ctypes
import unittest

import torch

from paceline import _native
from paceline._errors import Misuse
from paceline._handing import Handing
from paceline._model import GivenUp


class Session:
    """Copies what is handed to it, as the library does."""

    def __init__(self):
        self.calls, self.found, self.is_wanted, self.code = [], {}, True, None

    def call(self, name, *arguments):
        self.calls.append(name)
        if name == "may_go_on":
            return int(self.is_wanted)
        assert name == "hand", name
        count, indices, places, sizes = arguments
        for i in range(count):
            floats = (ctypes.c_float * sizes[i]).from_address(places[i]) if sizes[i] else []
            assert indices[i] not in self.found, "a second gradient"
            self.found[indices[i]] = list(floats)
        if self.code is not None:
            return self.code
        return _native.OK if self.is_wanted else _native.GIVEN_UP


class HandingTest(unittest.TestCase):
    def setUp(self):
        self.session, self.now = Session(), 100.0

    def handing(self, tensors, floats):
        return Handing(self.session, tensors, 4 * floats, clock=lambda: self.now)

    def step(self, handing, gradients):
        handing.begin()
        for index, gradient in gradients:
            handing.add(index, gradient)
        handing.flush()

    def test_all_arrive_in_at_most_twenty_calls(self):
        for sizes in ([3] * 500, [1000] * 20, [100_000, 3, 3, 70_000, 1], list(range(1, 300)), [5]):
            with self.subTest(sizes=sizes[:5]):
                self.session = Session()
                handing = self.handing(len(sizes), sum(sizes))
                for _ in range(2):
                    self.session.calls.clear()
                    self.session.found.clear()
                    # Made one after the other and dropped, as a backward pass does: their memory is another's soon.
                    gradients = ((i, torch.full((size,), float(i))) for i, size in reversed(list(enumerate(sizes))))
                    self.step(handing, gradients)
                    self.assertLessEqual(len(self.session.calls), 20)
                    self.assertEqual(self.session.found, {i: [float(i)] * size for i, size in enumerate(sizes)})
                    self.assertEqual(handing.count, len(sizes))

    def test_a_large_one_does_not_wait_for_others(self):
        handing = self.handing(3, 1002)
        handing.begin()
        handing.add(1, torch.ones(1))
        self.assertEqual(self.session.found, {})
        handing.add(0, torch.ones(1000))
        self.assertEqual(self.session.found.keys(), {0, 1})

    def test_no_gradient_waits_for_long(self):
        handing = self.handing(3, 1002)
        handing.begin()
        handing.add(1, torch.ones(1))
        self.now += 1
        handing.add(2, torch.ones(1))
        self.assertEqual(self.session.found.keys(), {1, 2})

    def test_what_is_not_contiguous_float32_becomes_so(self):
        handing = self.handing(2, 10)
        whole = torch.arange(8, dtype=torch.float32).view(2, 4)
        self.step(handing, [(0, whole.t()), (1, torch.tensor([1.5, 2.5], dtype=torch.bfloat16))])
        self.assertEqual(self.session.found, {0: whole.t().flatten().tolist(), 1: [1.5, 2.5]})

    def test_a_step_that_nobody_wants_ends(self):
        handing = self.handing(2, 1001)
        self.session.is_wanted = False
        with self.assertRaises(GivenUp):
            handing.begin()
        self.session.is_wanted = True
        handing.begin()
        self.session.is_wanted = False
        handing.add(0, torch.ones(1))
        with self.assertRaises(GivenUp):
            handing.add(1, torch.ones(1000))
        self.session.is_wanted = True
        self.session.found.clear()
        self.step(handing, [(0, torch.zeros(1)), (1, torch.zeros(1000))])  # Nothing is left of the one before.
        self.assertEqual(self.session.found, {0: [0.0], 1: [0.0] * 1000})

    def test_it_asks_now_and_then_while_nothing_comes(self):
        handing = self.handing(1, 1)
        handing.begin()
        self.session.is_wanted = False
        handing.tick()  # A moment later.
        self.now += 1
        with self.assertRaises(GivenUp):
            handing.tick()

    def test_what_the_session_refuses_is_raised(self):
        handing = self.handing(1, 1)
        handing.begin()
        self.session.code = _native.INVALID
        with self.assertRaises(Misuse):
            handing.add(0, torch.ones(1))


if __name__ == "__main__":
    unittest.main()
