"""A DataLoader's own sampler says what an epoch is: alone, in jobs, the same on all workers; what they cannot share is refused."""
import contextlib
import io
import itertools
import json
import random
import re
import sys
import unittest

import torch
from torch.utils.data import (BatchSampler, DataLoader, Dataset, DistributedSampler, RandomSampler, Sampler, SequentialSampler,
                              SubsetRandomSampler, TensorDataset, WeightedRandomSampler)

import paceline
from jobs import JobTest
from paceline._data import source_of

N = 40
WEIGHTS = [99.0 if i < 4 else 1.0 for i in range(N)]


class Drawing(Sampler):
    """Of a function of (self, epoch)."""

    def __init__(self, draw, **more):
        self.draw, self.epoch = draw, 0
        vars(self).update(more)

    def __iter__(self):
        return iter(self.draw(self))


class ByEpoch(Drawing):
    def set_epoch(self, epoch):
        self.epoch = epoch


def loader_of(sampler, **more):
    return DataLoader(TensorDataset(torch.arange(N)), sampler=sampler, **more)


def own(loader, seed=3):
    return source_of(loader).own_sampler(seed)


def drawn(sampler, epoch=0, seed=3):
    return own(loader_of(sampler), seed).draw(epoch).tolist()


class OwnSamplerTest(unittest.TestCase):
    def test_an_epoch_of_the_whole_data_set_is_the_job_s(self):
        data = TensorDataset(torch.arange(N))
        for loader in (DataLoader(data), DataLoader(data, shuffle=True, drop_last=True, batch_size=7),
                       DataLoader(data, sampler=SequentialSampler(data)), DataLoader(data, batch_sampler=BatchSampler(RandomSampler(data), 4, True)),
                       DataLoader(data, sampler=DistributedSampler(data, 3, 1)), DataLoader(data, batch_size=None)):
            self.assertIsNone(own(loader))
        self.assertIsNone(source_of(data).own_sampler(3))

    def test_positions_follow_seed_and_epoch_alone(self):
        generator, numbers = torch.Generator().manual_seed(5), random.Random(5)
        for make in (lambda: WeightedRandomSampler(WEIGHTS, 30), lambda: WeightedRandomSampler(WEIGHTS, 30, generator=generator),
                     lambda: SubsetRandomSampler(range(5, 25)), lambda: RandomSampler(range(N), replacement=True),
                     lambda: RandomSampler(range(N), num_samples=2 * N), lambda: Drawing(lambda self: random.sample(range(N), 9)),
                     lambda: Drawing(lambda self: self.numbers.sample(range(N), 9), numbers=numbers),
                     lambda: Drawing(lambda self: list(self.sampler)[:9], sampler=WeightedRandomSampler(WEIGHTS, 30, generator=generator))):
            one, other = own(loader_of(make())), own(loader_of(make()))
            torch.rand(3), random.random(), numbers.random()
            torch.rand(3, generator=generator)
            draws = [one.draw(epoch).tolist() for epoch in range(3)]
            self.assertEqual([other.draw(epoch).tolist() for epoch in (2, 1, 0)], draws[::-1], one.name)  # Who joins late.
            self.assertEqual({len(draw) for draw in draws}, {one.positions})
            self.assertNotEqual(draws[0], draws[1])
            self.assertNotEqual(drawn(make(), seed=4), draws[0])

    def test_numpy_s_generators_too(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("this Python has no numpy")
        for sampler in (Drawing(lambda self: numpy.random.permutation(N)[:9]),
                        Drawing(lambda self: self.own.permutation(N)[:9], own=numpy.random.default_rng(1)),
                        Drawing(lambda self: self.own.permutation(N)[:9], own=numpy.random.RandomState(1))):
            first = drawn(sampler)
            self.assertEqual((drawn(sampler), drawn(sampler, epoch=1) == first), (first, False))

    def test_the_script_s_chance_goes_on_as_if_nothing_was_drawn(self):
        generator = torch.Generator().manual_seed(5)
        sampler = WeightedRandomSampler(WEIGHTS, 30, generator=generator)
        states = torch.get_rng_state(), generator.get_state(), random.getstate()
        drawn(sampler)
        self.assertTrue(torch.equal(torch.get_rng_state(), states[0]) and torch.equal(generator.get_state(), states[1]))
        self.assertEqual(random.getstate(), states[2])

    def test_the_sampler_s_order_is_the_epoch_s(self):
        self.assertEqual(drawn([7, 3, 3, 39]), [7, 3, 3, 39])
        self.assertEqual(drawn(ByEpoch(lambda self: range(self.epoch, self.epoch + 5)), epoch=2), [2, 3, 4, 5, 6])
        batches = DataLoader(TensorDataset(torch.arange(N)), batch_sampler=[[4, 5], [1], torch.tensor([2, 3])])
        self.assertEqual(own(batches).draw(1).tolist(), [4, 5, 1, 2, 3])

    def test_one_of_a_fleet_is_drawn_for_all(self):
        whole = list(range(0, N, 2))

        def part(self):
            return whole[self.rank:len(whole):self.num_replicas]
        for rank in range(3):
            sampler = ByEpoch(part, num_replicas=3, rank=rank)
            self.assertEqual(drawn(sampler), whole)
            self.assertEqual(sampler.rank, rank, "as it was")
        half = DistributedSampler(whole, 2, 1, shuffle=False)
        self.assertEqual(drawn(half), list(range(20)))
        batches = Drawing(lambda self: [part(self)[:2], part(self)[2:]], num_replicas=2, rank=1)
        self.assertEqual(sorted(own(DataLoader(TensorDataset(torch.arange(N)), batch_sampler=batches)).draw(0)), whole)
        with self.assertRaisesRegex(paceline.Misuse, "take another sampler than Drawing, .* draws for one process of 2, whatever its rank"):
            drawn(Drawing(lambda self: [1, 3, 5], num_replicas=2, rank=1))

    def test_what_workers_cannot_share_is_refused_with_the_reason(self):
        secret = random.SystemRandom()
        once = iter(range(5))
        for draw, why in ((lambda self: itertools.cycle(range(3)), "more than 1000000 positions for an epoch of 40 samples, as if it had no end"),
                          (lambda self: secret.sample(range(N), 20), "drawn again is another one"),
                          (lambda self: once, "drawn again is another one"),
                          (lambda self: vars(self).update(epoch=self.epoch + 1) or range(self.epoch), "how often it was drawn"),
                          (lambda self: [], "gives no position"), (lambda self: [0, 40], "position 40 of a data set of 40"),
                          (lambda self: [-1, 0], "position -1 of"), (lambda self: [[1, 2]], "gives list where the number of a sample is wanted"),
                          (lambda self: [0.5], "gives float where")):
            with self.assertRaisesRegex(paceline.Misuse, f"take another sampler than Drawing, .*{why}"):
                drawn(Drawing(draw))
        with self.assertRaisesRegex(paceline.Misuse, "gives int where batches are wanted"):
            own(DataLoader(TensorDataset(torch.arange(N)), batch_sampler=Drawing(lambda self: [1, 2])))
        with self.assertRaisesRegex(paceline.Misuse, "5 positions for epoch 0 and 7 for epoch 2: epochs have to have as many"):
            drawn(ByEpoch(lambda self: range(5 + self.epoch)), epoch=2)

    def test_one_that_follows_the_losses_is_refused_when_it_does(self):
        sampler = WeightedRandomSampler(WEIGHTS, 30)
        found = own(loader_of(sampler))
        sampler.weights = torch.rand(N, dtype=torch.double)
        with self.assertRaisesRegex(paceline.Misuse, "than WeightedRandomSampler, .*not from losses"):
            found.draw(1)

    def test_what_of_the_batches_is_not_used_is_said(self):
        data = TensorDataset(torch.arange(N))
        for loader, said in ((DataLoader(data), ""), (DataLoader(data, batch_size=32), ""), (DataLoader(data, batch_size=16), ""),
                             (DataLoader(data, batch_size=8), "batch_size=8 is not used: the job's batches have 32"),
                             (DataLoader(data, batch_size=32, drop_last=True), "drop_last is not used"),
                             (DataLoader(data, batch_sampler=BatchSampler(RandomSampler(data), 8, True)), "batch_size=8 .*drop_last"),
                             (DataLoader(data, batch_sampler=[[1], [2, 3]]), "the grouping of list is not used")):
            self.assertRegex(" ".join(source_of(loader).not_used([32, 16])), f"^{said}.*$" if said else "^$")


class AloneTest(unittest.TestCase):
    @staticmethod
    def seen(loader, epochs=2):
        model, seen = torch.nn.Linear(1, 1), []
        with contextlib.redirect_stdout(io.StringIO()) as said:
            with paceline.worker(model, torch.optim.SGD(model.parameters(), lr=0.1), epochs=epochs) as w:
                for batch in w.data(loader):
                    seen.append(batch.indices)
                    w.step(model(batch.x.float()[:, None] / N).mean())
        return seen, said.getvalue()

    def test_the_sampler_s_positions_are_trained_on(self):
        seen, said = self.seen(loader_of([5, 6, 7], batch_size=2))
        self.assertEqual((seen, said), ([[5, 6], [7]] * 2, ""))
        seen, _ = self.seen(loader_of(WeightedRandomSampler(WEIGHTS, 400), batch_size=50))
        self.assertEqual([len(batch) for batch in seen], [50] * 16)
        self.assertGreater(sum(index < 4 for batch in seen for index in batch) / 800, 0.8)

    def test_what_is_not_used_is_said_once(self):
        data = TensorDataset(torch.arange(N))
        seen, said = self.seen(DataLoader(data, batch_sampler=BatchSampler(SequentialSampler(data), 16, True)))
        self.assertEqual([len(batch) for batch in seen], [16, 16, 8] * 2)
        self.assertEqual(said.count("drop_last is not used"), 1)


# What each worker has trained on is in its log; the epoch is that of a batch's first sample.
SCRIPT = """
    import json, os, sys, torch, paceline
    from torch.utils.data import BatchSampler, DataLoader, Sampler, SubsetRandomSampler, TensorDataset, WeightedRandomSampler
    torch.manual_seed(int(os.environ["PACELINE_INDEX"]) if "RANK" not in os.environ else 0)
    n = 400
    data = TensorDataset(torch.arange(n))
    class Fleet(Sampler):
        num_replicas, rank = 2, 0
        def __init__(self, rank): self.num_replicas, self.rank = 2, rank
        def __iter__(self): return iter(range(self.rank, 160, 2))
    samplers = {
        "weighted": lambda: WeightedRandomSampler([99.0 if i < 4 else 1.0 for i in range(n)], 320),
        "subset": lambda: SubsetRandomSampler(range(100, 260)),
        "fleet": lambda: Fleet(int(os.environ["PACELINE_INDEX"])),
        "ordered": lambda: list(range(159, -1, -1)),
        "own": lambda: WeightedRandomSampler(torch.rand(n), 160),
        "endless": lambda: iter(int, 1),
    }
    what = sys.argv[1]
    more = {"batch_sampler": BatchSampler(samplers["subset"](), 5, True)} if what == "batches" else {"sampler": samplers[what]()}
    model = torch.nn.Linear(1, 1)
    with paceline.worker(model) as w:
        for batch in w.data(DataLoader(data, num_workers=int(sys.argv[2]), **more)):
            assert batch.x.tolist() == batch.indices
            step = w.step(model(batch.x.float()[:, None] / n).square().mean())
            if not step.given_up:
                w.log("trained on " + json.dumps([batch.epoch, batch.indices]))
"""


class SamplerJobTest(JobTest):
    def end_job(self, sampler, *overrides, readers=0, **options):
        self.script(SCRIPT)
        return self.run_job("spec.training.seed=7", *overrides, arguments=[sampler, str(readers)], **options)

    def trained_on(self, ended):
        self.assert_succeeded(ended)
        return sorted(sample for _, samples in self.batches(ended) for sample in samples)

    @staticmethod
    def batches(ended):
        return [json.loads(found) for found in re.findall(r"trained on (\[\d+, \[[\d, ]*\]\])", ended.worker_logs())]

    def wanted(self, sampler, epochs=2):
        """What the same sampler draws here."""
        weights = [99.0 if i < 4 else 1.0 for i in range(400)]
        made = {"weighted": lambda: WeightedRandomSampler(weights, 320), "subset": lambda: SubsetRandomSampler(range(100, 260))}[sampler]()
        found = DataLoader(TensorDataset(torch.arange(400)), sampler=made)
        drawing = own(found, seed=7)
        return sorted(itertools.chain.from_iterable(drawing.draw(epoch) for epoch in range(epochs)))

    def test_positions_are_the_same_on_any_number_of_workers(self):
        for workers, readers in ((1, 0), (3, 0), (2, 1)):
            with self.subTest(workers=workers, readers=readers):
                ended = self.end_job("weighted", workers=workers, readers=readers)
                self.assertEqual(self.trained_on(ended), self.wanted("weighted"))
                for path in self.folder.glob("paceline-runs/*"):
                    path.rename(self.folder / f"done-{workers}-{readers}")
                for path in self.folder.rglob("*.log"):
                    path.unlink()

    def test_an_epoch_is_as_long_as_the_sampler_s(self):
        ended = self.end_job("subset")
        self.assertEqual(self.trained_on(ended), self.wanted("subset"))
        self.assert_every_sample_once(ended, 2)

    def test_one_of_a_fleet_gives_all_of_it(self):
        self.assertEqual(self.trained_on(self.end_job("fleet")), sorted([*range(160)] * 2))

    def test_processes_of_one_worker_have_each_a_part_of_what_one_draws(self):
        self.script(SCRIPT)
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "train.py", "weighted", "0"]
        ended = self.start("spec.training.seed=7", f"spec.workers.command={json.dumps(torchrun)}", workers=1).wait()
        self.assertEqual(self.trained_on(ended), self.wanted("weighted"))

    def test_its_order_is_kept_and_batches_are_the_job_s(self):
        ended = self.end_job("ordered", workers=1)
        self.trained_on(ended)
        first = json.loads(re.search(r"trained on (\[0, \[159.*?\]\])", ended.worker_logs()).group(1))
        self.assertEqual(first, [0, list(range(159, 127, -1))])

    def test_a_batch_sampler_s_batches_are_said_not_to_be_used(self):
        ended = self.end_job("batches")
        self.assertEqual(self.trained_on(ended), self.wanted("subset"))
        for what in ("batch_size=5 is not used", "drop_last is not used"):
            self.assertEqual(ended.worker_logs().count(what), 2, "once a worker")

    def test_workers_that_draw_otherwise_end_the_job(self):
        ended = self.end_job("own", "spec.training.stop={maxEpochs: 1000}")
        self.assertNotEqual(ended.code, 0)
        self.assertRegex(ended.err, r"the sampler WeightedRandomSampler has to draw the same positions on all workers.*for epoch 0 w")

    def test_one_without_an_end_is_refused(self):
        ended = self.end_job("endless", "spec.runPolicy.backoffLimit=0")
        self.assertNotEqual(ended.code, 0)
        self.assertRegex(ended.err, "take another sampler than .*as if it had no end")

    def test_it_is_drawn_alike_after_a_resume(self):
        checkpoints = f"spec.checkpoint={{periodSeconds: 100ms, volume: {{hostPath: {{path: {self.folder / 'checkpoints'}, type: DirectoryOrCreate}}}}}}"
        self.trained_on(self.end_job("subset", checkpoints, "spec.training.stop={maxEpochs: 1}"))
        for path in self.folder.rglob("*.log"):
            path.unlink()
        ended = self.end_job("subset", checkpoints, options=["--resume"])
        self.assertIn("goes on from", ended.err)
        self.trained_on(ended)
        second = itertools.chain.from_iterable(samples for epoch, samples in self.batches(ended) if epoch == 1)
        self.assertEqual(sorted(second), sorted(set(self.wanted("subset"))), "a subset is each of its samples once")


if __name__ == "__main__":
    unittest.main()
