"""A script of a job trains without one too."""
import contextlib
import io
import os
import unittest

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

import paceline
from paceline._data import source_of


class Readers(Dataset):
    """Says who has read a sample."""

    def __len__(self):
        return 20

    def __getitem__(self, index):
        return torch.tensor([float(index)]), os.getpid()


class AloneTest(unittest.TestCase):
    def test_it_trains_with_an_optimizer_of_its_own(self):
        torch.manual_seed(0)
        x = torch.randn(256, 4)
        y = (x.sum(1) > 0).long()
        model = torch.nn.Linear(4, 2)
        seen = []
        with contextlib.redirect_stdout(io.StringIO()) as said:
            with paceline.worker(model, torch.optim.SGD(model.parameters(), lr=0.5), epochs=5, batch_size=32) as w:
                for batch in w.data((x, y)):
                    seen += batch.indices
                    w.step(torch.nn.functional.cross_entropy(model(batch.x), batch.y))
                w.evaluate(lambda: {"accuracy": (model(x).argmax(1) == y).float().mean().item()})
        self.assertEqual(sorted(seen), sorted(list(range(256)) * 5))
        self.assertIn("accuracy", said.getvalue())
        self.assertGreater((model(x).argmax(1) == y).float().mean(), 0.95)

    def test_a_loader_s_workers_read(self):
        model = torch.nn.Linear(1, 1)
        readers, seen = set(), []
        with paceline.worker(model, torch.optim.SGD(model.parameters(), lr=0.1), epochs=2) as w:
            for batch in w.data(DataLoader(Readers(), batch_size=4, num_workers=2)):
                self.assertEqual(batch.x.flatten().tolist(), batch.indices)
                readers |= set(batch.y.tolist())
                seen += batch.indices
                w.step(model(batch.x / 20).mean())
        self.assertEqual(sorted(seen), sorted(list(range(20)) * 2))
        self.assertNotIn(os.getpid(), readers)

    def test_a_forgotten_step_is_said(self):
        model = torch.nn.Linear(4, 2)
        with paceline.worker(model, torch.optim.SGD(model.parameters(), lr=0.5)) as w:
            with self.assertRaisesRegex(paceline.Misuse, "had no w.step"):
                for _ in w.data((torch.zeros(64, 4), torch.zeros(64))):
                    pass


class SourceTest(unittest.TestCase):
    def test_a_loader_s_samples_and_collate_function_are_used(self):
        pairs = [(torch.tensor([float(i)]), {"label": i}) for i in range(5)]
        source = source_of(DataLoader(pairs, batch_size=2, shuffle=True))
        x, more = source.load([3, 1])
        self.assertEqual((x.flatten().tolist(), more["label"].tolist()), ([3.0, 1.0], [3, 1]))
        self.assertEqual((source.samples, source.loader), (5, None))
        loader = DataLoader(pairs, collate_fn=lambda samples: len(samples))
        self.assertEqual(source_of(loader).load([0, 1, 2]), 3)

    def test_a_loader_s_workers_read_what_is_not_in_memory(self):
        self.assertEqual(source_of(DataLoader([1, 2], num_workers=2)).loader.num_workers, 2)
        self.assertIsNone(source_of(DataLoader(TensorDataset(torch.ones(2)), num_workers=2)).loader, "it is in memory")

    def test_tensors_are_indexed_at_once(self):
        source = source_of((torch.arange(4), torch.arange(4) * 10))
        self.assertEqual([part.tolist() for part in source.load([2, 0])], [[2, 0], [20, 0]])
        self.assertEqual([part.tolist() for part in source_of(TensorDataset(torch.arange(3))).load([1])], [[1]])

    def test_what_has_no_samples_by_number_is_refused(self):
        class Endless(IterableDataset):
            def __iter__(self):
                return iter(())

        with self.assertRaisesRegex(paceline.Misuse, "IterableDataset has no samples by number"):
            source_of(Endless())
        with self.assertRaisesRegex(paceline.Misuse, "a generator is no data"):
            source_of(i for i in range(3))


if __name__ == "__main__":
    unittest.main()
