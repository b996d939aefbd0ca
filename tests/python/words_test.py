"""Words in memory that processes share."""
import ctypes
import mmap
import os
import unittest

from paceline import _native
from paceline._group_memory import is_posted, post, words, WORD_BYTES

LATE_MS = 30_000


class WordsTest(unittest.TestCase):
    def setUp(self):
        self.memory = mmap.mmap(-1, 4096)
        self.there, self.back = words(self.memory, WORD_BYTES, 2)

    def wait(self, word, value, timeout_ms=LATE_MS):
        return bool(_native.library().paceline_await(ctypes.byref(word), value, timeout_ms))

    def test_another_process_that_waits_wakes_and_sees_what_was_written(self):
        child = os.fork()
        if child == 0:
            ok = all(self.wait(self.there, i) and self.memory[i] == i % 256 and (post(self.back, i) or True) for i in range(1, 60))
            os._exit(0 if ok else 1)
        for i in range(1, 60):
            self.memory[i] = i % 256
            post(self.there, i)
            self.assertTrue(self.wait(self.back, i))
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_what_is_not_there_is_waited_for_no_longer_than_said(self):
        self.assertFalse(self.wait(self.there, 1, timeout_ms=0))
        self.assertFalse(self.wait(self.there, 1, timeout_ms=5))
        post(self.there, 2)
        self.assertTrue(self.wait(self.there, 1, timeout_ms=0))
        self.assertFalse(is_posted(self.there, 3))

    def test_words_wrap_around(self):
        post(self.there, 2**32 - 1)
        self.assertTrue(is_posted(self.there, 2**32 - 1))
        self.assertFalse(is_posted(self.there, 2**32))  # The next: 0.
        post(self.there, 2**32)
        self.assertTrue(is_posted(self.there, 2**32 - 1))


if __name__ == "__main__":
    unittest.main()
