"""A worker of several processes without a job: forked, on a session that gives steps and learns by itself."""
import faulthandler
import os
import sys
import tempfile
import traceback
import unittest
from pathlib import Path

import torch
import torch.distributed as dist

import paceline
from paceline import _joined, _native

RATE = 0.1
DEADLINE_S = int(os.environ.get("PACELINE_DEADLINE_S", 100))  # Of a rank, which then ends and says where it was.


class Session:
    """Of rank 0. Gives a step for each of `batches`, then is over; learns as plain SGD would."""

    batches = []
    evaluations = 0
    threads = 1
    given_up_at = None  # (step, gradients handed): from there on nobody wants that step.
    started = None  # Called when it starts.
    groups = []  # Of the job's parameters.

    @staticmethod
    def parameter_groups():
        return Session.groups

    def __init__(self, model):
        self.model, self.step, self.handed, self.log, self.is_over = model, 0, {}, [], False
        Session.last = self

    def call(self, name, *arguments):
        facts = {"job": b'{"spec": {"training": {}}}', "is_evaluator": int(self.evaluations > 0), "index": 0, "group": b"",
                 "device": b"cpu", "threads": self.threads}
        return facts[name] if name in facts else getattr(self, name)(*arguments)

    def check(self, name, *arguments):
        code = self.call(name, *arguments)
        assert code in (None, _native.OK), (name, code)

    def loss_weight(self):
        return None

    def look_ahead(self, steps):
        pass

    def keep(self, frozen, way, goes_on, digests):
        self.kept = [(one.name, one.type, digest) for one, digest in zip(frozen, digests)]

    def start(self, *arguments):
        self.log.append(("start", *arguments))

    def next(self, timeout_ms, work):
        work, self.handed = work._obj, {}
        work.parameters = None
        if self.step == max(len(self.batches), self.evaluations):
            work.kind, self.is_over = _native.OVER, True
        elif self.evaluations:
            work.kind = _native.EVALUATE
        else:
            samples = self.batches[self.step]
            self.samples = (_native.c_uint32 * len(samples))(*samples)
            work.kind, work.sample_count = _native.STEP, len(samples)
            work.samples = _native.ctypes.cast(self.samples, _native.POINTER(_native.c_uint32))
        self.step += 1

    def reason(self):
        return b"done" if self.is_over else b""

    def expect(self, ahead, room, size):
        index = self.step - 1 + ahead
        if index >= len(self.batches):
            return 0
        samples = self.batches[index]
        room[:len(samples)] = samples
        return len(samples)

    def may_go_on(self):
        return int(self.given_up_at is None or (self.step, len(self.handed)) < self.given_up_at or self.step > self.given_up_at[0])

    def hand(self, count, indices, addresses, sizes):
        for index, address, size in zip(indices[:count], addresses[:count], sizes[:count]):
            values = torch.frombuffer((_native.ctypes.c_float * size).from_address(address), dtype=torch.float32)
            assert index not in self.handed
            self.handed[index] = values.clone()
        return _native.OK if self.may_go_on() else _native.GIVEN_UP

    def begin_step(self):
        return _native.OK

    def end_step(self, loss, samples, correct):
        self.log.append(("end", loss, samples, correct))
        for index, gradient in self.handed.items():
            begin = self.model.native[index].offset_bytes
            self.model.values[begin:begin + 4 * len(gradient)].view(torch.float32).sub_(gradient, alpha=RATE)

    def give_up_step(self, why):
        self.log.append(("given up", why))

    def fail_step(self, why, cause):
        self.log.append(("failed", why.decode(), cause.decode()))

    def end_evaluation(self, evaluation):
        self.log.append(("evaluated", evaluation._obj.loss))

    def fail_evaluation(self, why):
        self.log.append(("failed", why.decode()))

    def drain(self):
        pass

    def leave(self):
        self.log.append(("left",))

    def close(self):
        self.log.append(("closed",))


class RanksTest(unittest.TestCase):
    def run_ranks(self, body, ranks=2, **session):
        """`body(rank)` in forked processes, whose paceline.worker is the real one. What each gives: a value, or its error in words."""
        torch.set_num_threads(1)
        with tempfile.TemporaryDirectory() as folder:
            processes = [self._fork(body, rank, ranks, Path(folder), session) for rank in range(ranks)]
            ends = [os.waitpid(process, 0)[1] for process in processes]
            return [self._result(Path(folder) / str(rank), ends[rank]) for rank in range(ranks)]

    @staticmethod
    def _result(path, end):
        return torch.load(path, weights_only=False) if path.exists() else f"ended with status {end}"

    @staticmethod
    def _fork(body, rank, ranks, folder, session):
        sys.stdout.flush()
        process = os.fork()
        if process:
            return process
        try:
            if "PACELINE_SHOW" not in os.environ:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            faulthandler.dump_traceback_later(DEADLINE_S, exit=True)
            os.environ.update(WORLD_SIZE=str(ranks), RANK=str(rank), LOCAL_RANK=str(rank), PACELINE_JOB="{}")
            _joined.Session = Session
            for name, value in session.items():
                setattr(Session, name, value)
            dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=ranks)
            try:
                given = body(rank)
            except Exception as error:  # Any: the test looks at it.
                traceback.print_exc(file=open(folder / f"trace-{rank}", "w", encoding="utf-8"))
                given = f"{type(error).__name__}: {error}"
            torch.save(given, folder / f"part-{rank}")
            os.rename(folder / f"part-{rank}", folder / str(rank))
        finally:
            os._exit(0)


def learn(model, loss_of, batches):
    """What one process of plain PyTorch learns."""
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for batch in batches:
        optimizer.zero_grad()
        loss_of(model, batch).backward()
        optimizer.step()
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def train(model, loss_of, steps=None, **options):
    """The same by `paceline.worker`: state, what each step was, and what rank 0's session has heard."""
    said = []
    with paceline.worker(model, **options) as w:
        for batch in w.leases(100):
            said.append(w.step(loss_of(model, batch.indices)))
    return {name: value.detach().clone() for name, value in model.state_dict().items()}, said, getattr(Session, "last", None) and Session.last.log
