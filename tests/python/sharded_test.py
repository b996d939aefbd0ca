"""A model whose parameters are sharded over the processes of one worker, as fully_shard does it."""
import os
import unittest

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import paceline
from paceline._ahead import Ahead
from ranks import RanksTest, Session, learn
from ranks_test import BATCHES, X, loss_of


def make():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 17), nn.BatchNorm1d(17, affine=False, track_running_stats=True), nn.Linear(17, 3), nn.Linear(3, 3))


def sharded(root=True):
    from torch.distributed.fsdp import fully_shard  # In a rank alone: it is slow to import.
    model = make()
    fully_shard(model[0])
    fully_shard(model[2])
    if root:
        fully_shard(model)
    return model.eval()


def whole(model):
    return {name: value.full_tensor().clone() if hasattr(value, "full_tensor") else value.clone()
            for name, value in model.state_dict().items()}


class ShardedTest(RanksTest):
    def test_it_learns_what_one_process_does(self):
        """With parts of a batch, parts that are not even, and parameters that are not sharded."""
        batches = BATCHES * 3
        expected = learn(make().eval(), loss_of, batches)
        for root, ranks in ((True, 2), (False, 3)):
            def body(rank, root=root):
                model = sharded(root)
                given = []
                with paceline.worker(model) as w:
                    for batch in w.leases(100):
                        if len(given) % len(BATCHES) == 0:  # All ranks make as many passes.
                            middle = len(batch) // 2
                            w.accumulate(loss_of(model, batch.indices[:middle]) * middle / len(batch))
                            step = w.step(loss_of(model, batch.indices[middle:]) * (len(batch) - middle) / len(batch))
                        else:
                            step = w.step(loss_of(model, batch.indices))
                        given.append(step.given_up)
                return whole(model), given
            for result in self.run_ranks(body, ranks, batches=batches):
                self.assertNotIsInstance(result, str, result)
                for name, value in expected.items():
                    torch.testing.assert_close(result[0][name], value, rtol=1e-5, atol=1e-6)
                self.assertNotIn(True, result[1])

    def test_values_come_from_the_ranks_that_have_them(self):
        def body(rank):
            model = sharded()
            with paceline.worker(model):
                first = whole(model)
            return first
        for result in self.run_ranks(body, batches=BATCHES):
            for name, value in make().state_dict().items():
                torch.testing.assert_close(result[name], value, rtol=0, atol=0)

    def test_nobody_stops_in_the_middle_of_a_pass(self):
        def body(rank):
            model, given = sharded(), []
            with paceline.worker(model) as w:
                for batch in w.leases(100):
                    given.append(w.step(loss_of(model, batch.indices)).given_up)
            return given
        for handed in (0, 1):
            for result in self.run_ranks(body, batches=BATCHES, given_up_at=(2, handed)):
                self.assertEqual(result, [False, True, False, False])

    def test_nor_where_the_frozen_base_alone_is_sharded(self):
        def body(rank):
            from torch.distributed.fsdp import fully_shard
            torch.manual_seed(1)
            model = nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 6).bfloat16().requires_grad_(False), nn.Linear(6, 3))
            fully_shard(model[1])
            given = []
            with paceline.worker(model) as w:
                for batch in w.leases(100):
                    loss = model[2](model[1](model[0](X[batch.indices]).bfloat16()).float()).square().mean()
                    given.append(w.step(loss).given_up)
            return given
        for result in self.run_ranks(body, batches=BATCHES, given_up_at=(2, 1)):
            self.assertEqual(result, [False, True, False, False])

    def test_out_of_memory_ends_all_and_says_so(self):
        def body(rank):
            model = sharded()

            def loss(indices):
                if rank == 1:
                    raise torch.OutOfMemoryError("out of memory")
                return loss_of(model, indices)
            with paceline.worker(model) as w:
                for batch in w.leases(100):
                    w.step(lambda: loss(batch.indices))
        one, other = self.run_ranks(body, batches=BATCHES)
        self.assertRegex(other, "out of memory in a process of a sharded model")
        self.assertIsInstance(one, str)  # The collective that it waits in fails, or it hears that the other is gone.

    def test_what_is_sharded_otherwise_is_refused_by_name(self):
        def body(rank):
            from torch.distributed.device_mesh import init_device_mesh
            from torch.distributed.tensor import Replicate, distribute_tensor
            model = nn.Linear(6, 3)
            mesh = init_device_mesh("cpu", (2,))
            model.weight = nn.Parameter(distribute_tensor(model.weight.detach(), mesh, [Replicate()]))
            paceline.worker(model)
        for words in self.run_ranks(body, batches=BATCHES):
            self.assertRegex(words, "Misuse: parameter weight is placed as .*fully_shard")

    def test_a_frozen_base_of_another_type_may_be_sharded_and_is_the_same_on_all(self):
        def body(rank, other):
            from torch.distributed.fsdp import fully_shard
            torch.manual_seed(1)
            model = nn.Sequential(nn.Linear(6, 6).bfloat16(), nn.Linear(6, 6).bfloat16(), nn.Linear(6, 3)).requires_grad_(False)
            model[2].requires_grad_(True)
            fully_shard(model[0])
            if rank == 1:
                model[1].bias.data[0] += other
            with paceline.worker(model) as w:
                for batch in w.leases(100):
                    w.step(model[2](model[1](model[0](X[batch.indices].bfloat16())).float()).square().mean())
            return rank == 1 or Session.last.kept
        kept, _ = self.run_ranks(lambda rank: body(rank, 0), batches=BATCHES)
        self.assertEqual([(name, kind, bool(digest)) for name, kind, digest in kept],
                         [("0.weight", "bfloat16 [6, 6]", False), ("0.bias", "bfloat16 [6]", False),
                          ("1.weight", "bfloat16 [6, 6]", True), ("1.bias", "bfloat16 [6]", True)])
        for words in self.run_ranks(lambda rank: body(rank, 1), batches=BATCHES):
            self.assertIn("Misuse: frozen parameter 1.bias has other values on rank 1 than on rank 0", words)

    def test_without_other_processes_it_is_refused(self):
        def body(rank):
            os.environ["WORLD_SIZE"] = "1"
            from torch.distributed.fsdp import fully_shard
            model = fully_shard(nn.Linear(6, 3))
            paceline.worker(model)
        self.assertRegex(self.run_ranks(body, ranks=1)[0], "Misuse: parameter weight is sharded over processes")


class Rows(Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, index):
        return X[index], os.getpid()


class AheadTest(RanksTest):
    def test_each_rank_s_loader_reads_its_parts_ahead(self):
        def body(rank):
            model = make().eval()
            here = os.getpid()
            read_here, samples = 0, []
            counts = []
            close = Ahead.close

            def closing(ahead):
                close(ahead)
                counts.append(ahead.counts())
            Ahead.close = closing
            with paceline.worker(model) as w:
                for batch in w.data(DataLoader(Rows(), num_workers=1)):
                    samples.append(batch.indices)
                    self.assertTrue(torch.equal(batch.x, X[batch.indices]))
                    read_here += int((batch.y == here).sum())
                    w.step(loss_of(model, batch.indices))
            return samples, read_here, counts[0]
        results = self.run_ranks(body, batches=[list(range(8 * i, 8 * i + 8)) for i in range(6)])
        for rank, (samples, read_here, counts) in enumerate(results):
            self.assertEqual(samples, [list(range(8 * i + 4 * rank, 8 * i + 4 * rank + 4)) for i in range(6)])
            self.assertEqual(read_here, 4)  # The first batch, which nobody could expect.
            self.assertEqual((counts.read_ahead, counts.read_when_wanted, counts.in_vain), (5, 1, 0))


if __name__ == "__main__":
    unittest.main()
