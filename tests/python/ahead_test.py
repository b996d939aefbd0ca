"""Batches that a DataLoader's workers read before their turn: found by their samples, whoever guesses what."""
import os
import signal
import sys
import tempfile
import unittest
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset, default_collate

from paceline._ahead import Ahead

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from eventually import eventually  # noqa: E402


class Numbers(Dataset):
    """Says who has read each."""

    def __init__(self, bad=()):
        self.bad = bad

    def __len__(self):
        return 1000

    def __getitem__(self, index):
        if index in self.bad:
            raise ValueError(f"no sample {index}")
        return index, os.getpid()


class AheadTest(unittest.TestCase):
    def make(self, dataset=None, **options):
        self.dataset = dataset or Numbers()
        self.guess = lambda ahead: []
        options = {"num_workers": 2, "prefetch_factor": 2, **options}
        loader = DataLoader(self.dataset, batch_size=4, **options)
        load = lambda indices: default_collate([self.dataset[index] for index in indices])  # noqa: E731
        self.ahead = Ahead(loader, default_collate, load, lambda ahead, size: self.guess(ahead), seed=1)
        self.addCleanup(self.ahead.close)

    def take(self, samples):
        """Who has read them: they are what was wanted."""
        numbers, readers = self.ahead.take(list(samples))
        self.assertEqual(numbers.tolist(), list(samples))
        return set(readers.tolist())

    def expect(self, begin, stride=4, size=4):
        self.guess = lambda ahead: list(range(begin + (ahead - 1) * stride, begin + (ahead - 1) * stride + size))

    def test_what_is_expected_is_read_by_the_loader_s_workers(self):
        self.make()
        self.expect(4)
        self.assertEqual(self.take(range(4)), {os.getpid()}, "nobody could know of the first")
        readers = set()
        for begin in range(4, 60, 4):
            self.expect(begin + 4)
            readers |= self.take(range(begin, begin + 4))
        self.assertNotIn(os.getpid(), readers)
        self.assertEqual(len(readers), 2)
        self.assertEqual(self.ahead.counts()[:2], (14, 1))

    def test_what_nobody_expected_is_read_here_and_then_others_are_expected(self):
        self.make()
        self.expect(4)
        self.take(range(4))
        self.expect(204)
        self.assertEqual(self.take(range(200, 204)), {os.getpid()})
        self.expect(208)
        self.assertNotIn(os.getpid(), self.take(range(204, 208)))
        self.assertEqual(self.ahead.counts(), (1, 2, 4))

    def test_what_comes_between_leaves_the_others_read(self):
        self.make()
        self.expect(4)
        self.take(range(4))
        self.guess = lambda ahead: []
        self.assertEqual(self.take(range(500, 504)), {os.getpid()})
        for begin in (8, 4, 16):  # 4 is passed over and kept.
            self.assertNotIn(os.getpid(), self.take(range(begin, begin + 4)), begin)
        self.assertEqual(self.take(range(20, 24)), {os.getpid()}, "as far as was looked ahead")

    def test_what_is_kept_is_bounded(self):
        self.make()
        for round_ in range(5):
            self.expect(100 * round_ + 4)
            self.take(range(100 * round_, 100 * round_ + 4))
            self.take(range(100 * round_ + 16, 100 * round_ + 20))
        self.assertLessEqual(len(self.ahead._kept), 4)
        self.assertLessEqual(len(self.ahead._plan.asked), 4)

    def test_batches_of_other_sizes(self):
        self.make()
        for begin, size in ((0, 4), (4, 6), (10, 2), (12, 2)):
            self.expect(begin + size, size, size)
            self.take(range(begin, begin + size))
        self.assertEqual(self.ahead.counts()[:2], (1, 3))

    def test_an_error_comes_with_the_batch_that_has_it(self):
        self.make(Numbers(bad=(9, 17)))
        self.expect(4)
        self.take(range(4))
        self.expect(8)
        self.take(range(4, 8))
        self.expect(12)
        with self.assertRaisesRegex(ValueError, "no sample 9"):
            self.take(range(8, 12))
        self.expect(16)
        self.take(range(12, 16))
        self.guess = lambda ahead: []
        self.take(range(20, 24))  # 16..19, whose error nobody wants, is passed over.

    def test_workers_of_the_loader_are_as_it_says(self):
        former = signal.signal(signal.SIGTERM, lambda number, frame: None)  # As the package's, which is the script's.
        self.addCleanup(signal.signal, signal.SIGTERM, former)
        for how in ("fork", "spawn"):
            folder = self.enterContext(tempfile.TemporaryDirectory())
            self.make(multiprocessing_context=how, worker_init_fn=Note(folder), num_workers=3)
            self.expect(4)
            self.take(range(4))
            self.expect(8)
            readers = self.take(range(4, 8))
            self.ahead.close()
            noted = {int(name.split("-")[0]): int(name.split("-")[1]) for name in os.listdir(folder)}
            self.assertEqual(sorted(noted.values()), [0, 1, 2])
            self.assertLessEqual(readers, set(noted))
            # One that does not hear in five seconds, on a busy machine, is told by a signal.
            self.assertTrue(eventually(lambda noted=noted: not any(os.path.exists(f"/proc/{process}") for process in noted), 30),
                            "ended with it")

    def test_the_script_s_random_numbers_are_its_own(self):
        torch.manual_seed(5)
        wanted = torch.rand(3)
        torch.manual_seed(5)
        self.make()
        for begin in (0, 100, 200):
            self.expect(begin + 4)
            self.take(range(begin, begin + 4))
        self.assertTrue(torch.equal(torch.rand(3), wanted))


class Note:
    """Leaves a file of its process and its number, if that can be ended."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, index):
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        open(os.path.join(self.folder, f"{os.getpid()}-{index}"), "w").close()


if __name__ == "__main__":
    unittest.main()
