"""A loop over epochs sees epochs, in a job and alone; a script that ends before its job has left."""
import contextlib
import io
import json
import os
import sys
import unittest

import torch
from torch.utils.data import DataLoader, TensorDataset

import paceline
from paceline._turns import Turns

from jobs import JobTest

BEGIN = """
    import json, os, torch, paceline
    from torch.utils.data import DataLoader, TensorDataset
    torch.manual_seed(0)
    x = torch.randn(320, 4); y = (x.sum(1) > 0).long()
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    def step(w, batch): w.step(torch.nn.functional.cross_entropy(model(batch.x), batch.y))
    def tell(turns): print("TURNS", json.dumps(turns), flush=True)
"""


class JobTurnsTest(JobTest):
    def turns(self, text, *overrides, **options):
        """The job, and of each of its workers the epochs of the batches of each turn."""
        self.script(BEGIN + text)
        ended = self.run_job("spec.training.globalBatchSize=32", *overrides, **options)
        told = [json.loads(line.split("TURNS ")[1]) for line in ended.worker_logs().splitlines() if "TURNS " in line]
        self.assertTrue(told, ended.words())
        return ended, told

    def test_a_turn_is_an_epoch_and_what_comes_after_the_job_is_empty(self):
        ended, told = self.turns("""
    def train_one_epoch(w, loader):
        epochs = []
        for batch in w.data(loader):
            step(w, batch); epochs.append(batch.epoch)
        return epochs
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
    turns = []
    with paceline.worker(model, optimizer) as w:
        for epoch in range(5):
            turns.append(train_one_epoch(w, loader))
            scheduler.step()
    tell(turns)
        """, "spec.training.stop={maxEpochs: 3}")
        self.assert_succeeded(ended)
        self.assertEqual(len(told), 2)
        for turns in told:
            self.assertEqual([sorted(set(turn)) for turn in turns], [[0], [1], [2], [], []])
            self.assertTrue(all(5 <= len(turn) <= 15 for turn in turns[:3]), turns)
        self.assertEqual(ended.worker_logs().count("StepLR counts nowhere: the manifest's schedule is the job's"), 2)
        self.assertNotIn("Detected call of `lr_scheduler.step()`", ended.worker_logs())

    def test_without_a_loop_around_it_a_turn_is_the_job(self):
        ended, told = self.turns("""
    for again in range(1):  # Makes its worker itself.
        epochs = []
        with paceline.worker(model) as w:
            for batch in w.data((x, y)):
                step(w, batch); epochs.append(batch.epoch)
    tell([epochs])
        """, "spec.training.stop={maxEpochs: 3}")
        self.assert_succeeded(ended)
        self.assertEqual([sorted(set(turns[0])) for turns in told], [[0, 1, 2]] * 2)

    def test_the_workers_of_a_loader_go_on_from_turn_to_turn(self):
        ended, told = self.turns("""
    class Rows(torch.utils.data.Dataset):
        def __len__(self): return len(x)
        def __getitem__(self, i): return x[i], y[i], os.getpid()
    loader = DataLoader(Rows(), num_workers=1)
    readers = []
    with paceline.worker(model) as w:
        for epoch in range(3):
            turn = set()
            for batch in w.data(loader):
                turn |= set(batch.data[2].tolist()) - {os.getpid()}
                step(w, batch)
            readers.append(sorted(turn))
    tell(readers)
        """, "spec.training.stop={maxEpochs: 3}")
        self.assert_succeeded(ended)
        for readers in told:
            self.assertEqual(len({reader for turn in readers for reader in turn}), 1, readers)

    def test_a_turn_that_is_left_goes_on_and_scripts_that_end_end_the_job(self):
        ended, told = self.turns("""
    turns = []
    with paceline.worker(model) as w:
        for epoch in range(3):
            turns.append([])
            for batch in w.data((x, y)):
                step(w, batch); turns[-1].append(batch.epoch)
                if len(turns[-1]) == 2: break
    tell(turns)
        """, "spec.training.stop={maxEpochs: 3}")
        summary = self.assert_succeeded(ended)
        self.assertEqual(told, [[[0, 0]] * 3] * 2, "each started once")
        self.assertEqual(ended.worker_logs().count("the next one goes on from there"), 2)
        self.assertEqual(summary["reason"], "all scripts ended after 0.6 epochs")
        self.assertEqual(summary["steps"], 6)

    def test_samples_of_a_script_that_ends_go_to_the_others(self):
        ended, told = self.turns("""
    epochs = []
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            step(w, batch); epochs.append(batch.epoch)
            if w.index == 0: break
    tell([epochs])
        """, "spec.training.stop={maxEpochs: 2}", "spec.runPolicy.backoffLimit=0")
        summary = self.assert_succeeded(ended)
        self.assertEqual(sorted(len(turns[0]) == 1 for turns in told), [False, True], "each started once")
        self.assertEqual(summary["reason"], "stopped after 2 epochs")

    def test_a_script_that_fails_behind_its_loop_is_started_again(self):
        os.mkfifo(self.folder / "again")
        ended, told = self.turns("""
    life = os.environ["PACELINE_INDEX"] + os.environ["PACELINE_ATTEMPT"]
    epochs = []
    with paceline.worker(model) as w:
        if life == "01": open("again", "w").close()
        for batch in w.data((x, y)):
            step(w, batch); epochs.append(batch.epoch)
            if life == "00": break
            if life == "10" and len(epochs) == 3: open("again").close()  # Until the other one is there again.
    tell([epochs])
    if life == "00": raise SystemExit(1)
        """, "spec.training.stop={maxEpochs: 3}")
        self.assert_succeeded(ended)
        self.assertEqual(len(told), 3)

    def test_an_exception_between_two_steps_is_no_end(self):
        """The job would end with the only script that it has."""
        ended, told = self.turns("""
    epochs = []
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            step(w, batch); epochs.append(batch.epoch)
            if os.environ["PACELINE_ATTEMPT"] == "0": raise RuntimeError("no room for my own checkpoint")
    tell([epochs])
        """, "spec.training.stop={maxEpochs: 2}", workers=1)
        self.assertEqual(self.assert_succeeded(ended)["reason"], "stopped after 2 epochs")


class AloneTurnsTest(unittest.TestCase):
    def train(self, function, **options):
        """What `function(w, data)` gives."""
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 2)
        data = DataLoader(TensorDataset(torch.randn(64, 4), torch.zeros(64, dtype=torch.long)), batch_size=16)
        self.said = io.StringIO()
        with contextlib.redirect_stdout(self.said):
            with paceline.worker(model, torch.optim.SGD(model.parameters(), lr=0.1), **options) as w:
                def turn(most=99):
                    seen = []
                    for batch in w.data(data):
                        w.step(torch.nn.functional.cross_entropy(model(batch.x), batch.y))
                        seen.append(batch)
                        if len(seen) == most:
                            break
                    return seen
                return function(turn)

    def test_a_turn_is_an_epoch(self):
        def loop(turn):
            turns = []
            for epoch in range(3):
                turns.append([batch.epoch for batch in turn()])
            return turns
        self.assertEqual(self.train(loop), [[0] * 4, [1] * 4, [2] * 4], "as many as the loop asks for")
        self.assertEqual(self.train(loop, epochs=2), [[0] * 4, [1] * 4, []])

    def test_without_a_loop_it_is_all_of_them(self):
        self.assertEqual([b.epoch for b in self.train(lambda turn: turn())], [0] * 4)
        self.assertEqual([b.epoch for b in self.train(lambda turn: turn(), epochs=2)], [0] * 4 + [1] * 4)

    def test_a_turn_that_is_left_goes_on_from_there(self):
        def loop(turn):
            turns = []
            for epoch in range(3):
                turns.append([batch.indices for batch in turn(most=3)])
            return turns
        turns = self.train(loop)
        self.assertEqual([len(turn) for turn in turns], [3, 1, 3])
        self.assertEqual(sorted(i for turn in turns[:2] for batch in turn for i in batch), list(range(64)))
        self.assertEqual(self.said.getvalue().count("goes on from there"), 1)


class Asked:
    """A worker, as far as turns are concerned."""

    def __init__(self):
        self.turns = Turns(sys._getframe(1))

    def data(self):
        return [self.turns.is_epoch(sys._getframe(1))]


def one_epoch(w):
    for answer in w.data():
        pass
    return answer


class LoopTest(unittest.TestCase):
    """Of what Python makes of a loop, in each of its versions."""

    def test_loops_around_a_turn(self):
        def by_for():
            w = Asked()
            for _ in range(2):
                for answer in w.data():
                    pass
            return answer

        def by_while():
            w, count = Asked(), 0
            while count < 2:
                for answer in w.data():
                    count += 1
            return answer

        def for_ever():
            w, count = Asked(), 0
            while True:
                for answer in w.data():
                    count += 1
                if count > 2:
                    return answer

        def of_the_caller():
            w = Asked()
            for _ in range(2):
                answer = one_epoch(w)
            return answer

        def in_a_comprehension():
            w = Asked()
            return [one_epoch(w) for _ in range(2)][0]

        def in_a_generator():
            w = Asked()

            def epochs():
                for _ in range(2):
                    yield from w.data()
            return list(epochs())[0]

        def with_all_around_it():
            with contextlib.nullcontext(Asked()) as w:
                for _ in range(2):
                    try:
                        with contextlib.nullcontext():
                            answer = one_epoch(w)
                    except ValueError:
                        continue
                    finally:
                        w.turns
            return answer

        def of_seeds_and_epochs():
            for _ in range(2):
                w = Asked()
                for _ in range(2):
                    answer = one_epoch(w)
            return answer

        for function in (by_for, by_while, for_ever, of_the_caller, in_a_comprehension, in_a_generator, with_all_around_it,
                         of_seeds_and_epochs):
            self.assertTrue(function(), function.__name__)

    def test_loops_elsewhere(self):
        def none():
            return one_epoch(Asked())

        def that_makes_the_worker():
            for _ in range(2):
                answer = one_epoch(Asked())
            return answer

        def that_has_it_made():
            def make():
                return Asked()
            for _ in range(2):
                w = make()
                answer = one_epoch(w)
            return answer

        def before_it():
            w = Asked()
            for _ in range(2):
                try:
                    int("x")
                except ValueError:
                    continue
            return one_epoch(w)

        def over_a_turn_that_was_begun():
            batches = iter(Asked().data())
            for _ in range(1):
                answer = next(batches)
            return answer

        for function in (none, that_makes_the_worker, that_has_it_made, before_it, over_a_turn_that_was_begun):
            self.assertFalse(function(), function.__name__)


if __name__ == "__main__":
    unittest.main()
