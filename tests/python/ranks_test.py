"""What the processes of one worker do together, each on a part of every batch."""
import os
import select
import signal
import unittest

import torch
from torch import nn

import paceline
from paceline import _native
from paceline._device import gpu_of
from paceline._group_memory import _die_with_torchrun
from paceline._group_sums import Bucket, Part, in_buckets, slice_of
from ranks import RanksTest, Session, learn, train

torch.manual_seed(0)
X = torch.randn(100, 6)
Y = torch.randn(100, 3)
BATCHES = [[1, 2, 3, 4, 5, 6, 7, 8], [9, 10, 11], [12], [13, 14, 15, 16, 17]]


def plain():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3))


def loss_of(model, indices):
    return nn.functional.mse_loss(model(X[indices]), Y[indices])


class SlicesTest(unittest.TestCase):
    def test_slices_are_the_whole(self):
        for begin, end in ((0, 0), (16, 17), (32, 1000), (48, 112)):
            for ranks in (1, 2, 3, 7):
                slices = [slice_of(begin, end, rank, ranks) for rank in range(ranks)]
                self.assertEqual([slices[0][0], slices[-1][1]], [begin, end])
                self.assertTrue(all(one[1] == other[0] for one, other in zip(slices, slices[1:])))

    def test_buckets_go_from_the_last_parameter_to_the_first(self):
        parts = [Part(i, i << 18, 1 << 18, (i << 18, 1 << 18), is_sharded=i == 9) for i in range(20)]
        buckets = in_buckets(parts)
        self.assertEqual([part.index for bucket in buckets for part in bucket.parts], list(range(19, -1, -1)))
        self.assertLessEqual(max(bucket.end - bucket.begin for bucket in buckets), 2 << 18)
        self.assertTrue(all(len({part.is_sharded for part in bucket.parts}) == 1 for bucket in buckets))
        self.assertIsInstance(buckets[0], Bucket)
        self.assertEqual(in_buckets([]), [])


class RankTest(RanksTest):
    def assert_learnt_the_same(self, make, loss, batches=BATCHES, ranks=2):
        expected = learn(make(), loss, batches)
        results = self.run_ranks(lambda rank: train(make(), loss), ranks, batches=batches)
        for result in results:
            self.assertNotIsInstance(result, str, result)
            for name, value in expected.items():
                torch.testing.assert_close(result[0][name], value, rtol=1e-5, atol=1e-6)
        return results

    def test_uneven_parts_and_none_at_all(self):
        for ranks in (2, 3):
            results = self.assert_learnt_the_same(plain, loss_of, ranks=ranks)
            model = plain()
            for batch, step in zip(BATCHES, [words for words in results[0][2] if words[0] == "end"]):
                if batch is BATCHES[0]:
                    self.assertAlmostEqual(step[1], loss_of(model, batch).item(), places=5)
                self.assertEqual(step[2], len(batch))

    def test_what_counts_for_nothing_may_be_no_number(self):
        def loss(model, indices):
            value = loss_of(model, indices)
            return value * float("nan") if os.environ.get("RANK") == "0" and indices == [12] else value
        self.assert_learnt_the_same(plain, loss)

    def test_tied_unused_frozen_and_sparse(self):
        class Odd(nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(2)
                self.embedding = nn.Embedding(100, 4, sparse=True)
                self.first, self.unused, self.tied = nn.Linear(4, 4), nn.Linear(3, 3), nn.Linear(4, 4)
                self.tied.weight = self.first.weight
                self.frozen = nn.Parameter(torch.full((4,), 1 / 3), requires_grad=False)

        def loss(model, indices):
            x = model.embedding(torch.tensor(indices))
            x = model.tied(torch.tanh(model.first(x))) * model.frozen
            if 1 in indices:  # One rank's part alone.
                x = x + model.unused(torch.ones(1, 3)).sum() * (torch.tensor(indices) == 1)[:, None]
            return x.square().mean()
        results = self.assert_learnt_the_same(Odd, loss, ranks=3)
        self.assertTrue(torch.equal(results[0][0]["frozen"], torch.full((4,), 1 / 3)))

    def test_what_no_part_of_the_batch_has_a_gradient_of_is_not_handed_over(self):
        class Heads(nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(2)
                self.body, self.of_one, self.never = nn.Linear(6, 3), nn.Linear(3, 3), nn.Linear(3, 3)
                self.of_nothing = nn.Linear(3, 3)  # Of the rank alone whose part counts for nothing.

        def loss(model, indices):
            x = model.body(X[indices])
            if 1 in indices:
                x = model.of_one(x)
            if indices == [12] and os.environ.get("RANK") == "0":
                x = model.of_nothing(x)
            return x.square().mean()

        def body(rank):
            handed, hand = [], Session.hand

            def noting(session, count, indices, addresses, sizes):
                handed.extend((session.step, session.model.native[i].name.decode()) for i in indices[:count])
                return hand(session, count, indices, addresses, sizes)
            Session.hand = noting
            train(Heads(), loss)
            return handed
        handed = self.run_ranks(body, batches=BATCHES)[0]
        self.assertNotIsInstance(handed, str, handed)
        always = {(step, f"body.{name}") for step in (1, 2, 3, 4) for name in ("weight", "bias")}
        self.assertEqual(set(handed), always | {(1, "of_one.weight"), (1, "of_one.bias")})
        self.assertEqual(len(handed), len(set(handed)))

    def test_each_has_buffers_of_its_own_and_they_are_averaged(self):
        class Mean(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(6))
                self.register_buffer("mean", torch.zeros(6))
                self.register_buffer("mask", torch.tensor([0.0, float("-inf")]))
                self.register_buffer("least", torch.tensor([0.0, float("-inf")]))
                self.register_buffer("count", torch.zeros((), dtype=torch.int64))

        def loss(model, indices):
            x = X[indices]
            with torch.no_grad():
                model.mean.add_(x.mean(0))
                model.least[0] += x.mean()
                model.count.add_(1)
            return (x * model.weight).mean()
        for result in self.assert_learnt_the_same(Mean, loss):
            self.assertEqual(result[0]["mask"].tolist(), [0.0, float("-inf")])

    def test_parts_of_a_batch_add_up(self):
        def body(rank):
            model = plain()
            with paceline.worker(model) as w:
                for batch in w.leases(100):
                    middle = len(batch) // 2
                    if middle:
                        w.accumulate(loss_of(model, batch.indices[:middle]) * middle / len(batch))
                    w.step(loss_of(model, batch.indices[middle:]) * (len(batch) - middle) / len(batch))
            return model.state_dict()
        expected = learn(plain(), loss_of, BATCHES)
        for result in self.run_ranks(body, batches=BATCHES):
            for name, value in expected.items():
                torch.testing.assert_close(result[name], value, rtol=1e-5, atol=1e-6)

    def test_values_are_rank_0_s(self):
        def body(rank):
            model = plain()
            if rank:
                nn.init.zeros_(model[0].weight)
            with paceline.worker(model) as w:
                for batch in w.leases(100):
                    w.step(loss_of(model, batch.indices))
            return model[0].weight.detach().clone()
        expected = learn(plain(), loss_of, BATCHES[:1])["0.weight"]
        for result in self.run_ranks(body, batches=BATCHES[:1]):
            torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-6)

    def test_other_models_are_refused_by_all(self):
        for words in self.run_ranks(lambda rank: train(nn.Linear(6, 3 + rank), loss_of), batches=BATCHES):
            self.assertRegex(words, "Misuse.*other tensors")

    def test_gradients_are_handed_over_during_the_backward_pass(self):
        """Ranks go through it layer by layer, so that none is late."""
        width = 600  # A bucket a layer.

        def body(rank):
            torch.manual_seed(3)
            model = nn.Sequential(*(nn.Linear(width, width) for _ in range(6)))
            handed = []

            def pace(*_):
                torch.distributed.barrier()
                handed.append(len(Session.last.handed) if rank == 0 else 0)
            for layer in model:
                layer.register_full_backward_pre_hook(pace)
            with paceline.worker(model) as w:
                for batch in w.leases(100):
                    w.step(model(torch.ones(2, width)).mean())
            return handed
        handed = self.run_ranks(body, batches=[[1, 2]])[0]
        self.assertEqual(len(handed), 6)
        self.assertGreaterEqual(handed[-1], 4)  # Two layers' weights and biases.

    def test_out_of_memory_in_one_is_a_batch_given_up_by_all(self):
        def body(rank):
            model = plain()
            steps = []

            def loss(indices):
                if rank == 1 and 9 in BATCHES[len(steps)]:
                    raise torch.OutOfMemoryError("out of memory")
                return loss_of(model, indices)
            with paceline.worker(model) as w:
                for batch in w.leases(100):
                    steps.append(w.step(lambda indices=batch.indices: loss(indices)).given_up)
            return steps, model.state_dict(), Session.last.log if rank == 0 else None
        results = self.run_ranks(body, batches=BATCHES)
        expected = learn(plain(), loss_of, BATCHES[:1] + BATCHES[2:])
        for steps, state, _ in results:
            self.assertEqual(steps, [False, True, False, False])
            torch.testing.assert_close(state["0.weight"], expected["0.weight"], rtol=1e-5, atol=1e-6)
        self.assertIn(("given up", _native.OUT_OF_MEMORY), results[0][2])

    def test_what_nobody_wants_any_more_is_given_up_by_all(self):
        expected = learn(plain(), loss_of, BATCHES[:1] + BATCHES[2:])
        for handed in (0, 1, 5):
            results = self.run_ranks(lambda rank: train(plain(), loss_of), batches=BATCHES, given_up_at=(2, handed))
            for state, steps, _ in results:
                self.assertEqual([step.given_up for step in steps], [False, True, False, False])
                torch.testing.assert_close(state["0.weight"], expected["0.weight"], rtol=1e-5, atol=1e-6)
            self.assertIn(("given up", _native.INTERRUPTED), results[0][2])

    def test_a_rank_that_is_killed_ends_the_others(self):
        for victim in (0, 1):
            def body(rank, victim=victim):
                def loss(model, indices):
                    if rank == victim and 9 in indices or rank == victim and 11 in indices:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return loss_of(model, indices)
                return train(plain(), loss)
            results = self.run_ranks(body, batches=BATCHES)
            self.assertEqual(results[victim], f"ended with status {signal.SIGKILL}")
            self.assertRegex(results[1 - victim], f"Gone: rank {victim} of this worker has ended")

    def test_what_the_script_raises_in_another_rank_is_what_the_job_hears(self):
        def body(rank):
            try:
                def loss(model, indices):
                    if rank == 1 and 11 in indices:
                        raise ValueError("eleven is bad")
                    return loss_of(model, indices)
                train(plain(), loss)
            except Exception as error:
                return repr(error), Session.last.log if rank == 0 else None
        results = self.run_ranks(body, batches=BATCHES)
        self.assertIn("eleven is bad", results[1][0])
        self.assertIn("rank 1: ValueError: eleven is bad", results[0][0])
        self.assertTrue(any(words[0] == "failed" and "eleven is bad" in words[1] for words in results[0][1]), results[0][1])

    def test_all_evaluate_and_what_rank_0_finds_counts(self):
        def body(rank):
            model = plain()
            with paceline.worker(model) as w:
                judged = []

                def judge():
                    total = torch.tensor(float(rank + 1))
                    torch.distributed.all_reduce(total)
                    judged.append(total.item())
                    return {"loss": total.item() + rank}
                w.evaluate(judge)
            return judged, Session.last.log if rank == 0 else None
        results = self.run_ranks(body, evaluations=3)
        self.assertEqual([judged for judged, _ in results], [[3.0] * 3] * 2)
        self.assertEqual([words for words in results[0][1] if words[0] == "evaluated"], [("evaluated", 3.0)] * 3)

    def test_a_large_batch_is_told_in_letters(self):
        batches = [list(range(100)) * 400]
        for result in self.run_ranks(lambda rank: train(nn.Linear(6, 3), loss_of), batches=batches):
            self.assertNotIsInstance(result, str, result)
            self.assertEqual(len(result[1]), 1)


class StarterTest(unittest.TestCase):
    def test_a_rank_ends_with_the_torchrun_that_has_started_it(self):
        ends, held = os.pipe()
        starter = os.fork()
        if starter == 0:
            ready, told = os.pipe()
            if os.fork() == 0:
                os.environ["TORCHELASTIC_RUN_ID"] = "one"
                _die_with_torchrun()
                os.write(told, b"ready")
                signal.pause()
            os.read(ready, 5)
            os._exit(0)
        os.close(held)
        self.assertEqual(os.waitpid(starter, 0)[1], 0)
        self.assertTrue(select.select([ends], [], [], 30)[0])
        self.assertEqual(os.read(ends, 1), b"")


class GpuTest(unittest.TestCase):
    def test_each_rank_has_its_own_as_long_as_there_are_enough(self):
        self.assertEqual([gpu_of(rank, 4) for rank in range(4)], [0, 1, 2, 3])
        self.assertEqual([gpu_of(rank, 2) for rank in range(4)], [0, 1, 0, 1])


if __name__ == "__main__":
    unittest.main()
