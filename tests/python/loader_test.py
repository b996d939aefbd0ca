"""A DataLoader's workers in jobs: they read what the next steps are expected to want, and never anything else is trained on."""
import json
import os
import re
import signal
import sys
import unittest
from pathlib import Path

from jobs import JobTest, Nursery

# A batch is what its lease says, whoever has read it.
SCRIPT = """
    import os, sys, torch, paceline
    from torch.utils.data import DataLoader, Dataset, get_worker_info
    class Numbers(Dataset):
        def __len__(self): return 640
        def __getitem__(self, index):
            if "bad" in sys.argv and index == 17 and get_worker_info(): raise ValueError("sample 17 is no good")
            return torch.tensor([float(index)]), os.getpid()
    def note(index): open(f"loader-{os.getpid()}", "w").close()
    if __name__ == "__main__":
        torch.manual_seed(0)
        model = torch.nn.Linear(1, 1)
        here = seen = 0
        with paceline.worker(model) as w:
            loader = DataLoader(Numbers(), num_workers=2, worker_init_fn=note)
            for batch in w.data(loader):
                assert batch.x.flatten().tolist() == batch.indices
                here += int((batch.y == os.getpid()).sum())
                seen += len(batch)
                w.step(model(batch.x / 640).square().mean())
            w.log(f"{here} of {seen} read here")
"""


class LoaderTest(JobTest):
    def start_job(self, *overrides, **options):
        self.script(SCRIPT)
        return self.start("spec.training.stop={maxEpochs: 4}", *overrides, **options)

    def end_job(self, *overrides, **options):
        return self.start_job(*overrides, interpreter=Nursery.command(), **options).wait()

    def counts(self, ended):
        """Over all workers: read here, seen, and batches read ahead, when wanted and in vain."""
        logs = ended.worker_logs()
        here = [(int(a), int(b)) for a, b in re.findall(r"(\d+) of (\d+) read here", logs)]
        said = [tuple(map(int, found)) for found in
                re.findall(r"batches: (\d+) read ahead .*?, (\d+) when they were wanted, (\d+) in vain", logs)]
        return [sum(column) for column in zip(*here)], [sum(column) for column in zip(*said)]

    def loader_workers(self):
        return [int(path.name.split("-")[1]) for path in self.folder.rglob("loader-*")]

    @staticmethod
    def are_gone(processes):
        return not any(Path(f"/proc/{process}").exists() for process in processes)

    def test_they_read_ahead_and_each_sample_is_trained_on_once_an_epoch(self):
        ended = self.end_job()
        self.assert_succeeded(ended)
        (here, seen), (ahead, wanted, in_vain) = self.counts(ended)
        self.assertEqual(seen, 4 * 640)
        self.assertGreater(ahead, 0.8 * (ahead + wanted), ended.worker_logs())
        self.assertLess(here, 0.2 * seen)
        self.assertEqual(in_vain, 0, "behind the last epoch there is nothing to read")
        self.assertEqual(len(self.loader_workers()), 4)
        self.assertTrue(self.are_gone(self.loader_workers()))

    def test_those_of_a_worker_s_processes_read_each_its_parts(self):
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "train.py"]
        ended = self.start_job(f"spec.workers.command={json.dumps(torchrun)}", workers=1).wait()
        self.assert_succeeded(ended)
        (here, seen), (ahead, wanted, in_vain) = self.counts(ended)
        self.assertEqual(seen, 4 * 640)
        self.assertGreater(ahead, 0.8 * (ahead + wanted), ended.worker_logs())
        self.assertLess(here, 0.2 * seen)
        self.assertEqual(in_vain, 0)
        self.assertEqual(len(self.loader_workers()), 4)
        self.assertTrue(self.are_gone(self.loader_workers()))

    def test_whoever_takes_which_turn(self):
        for overrides in (["spec.sync.scheme=ASP"], ["spec.sync.batchSizing.strategy=NARX"],
                          ["spec.sync.scheme=DBW", "spec.sync.dbw.lateWorker=Interrupt"], ["spec.sync.scheme=WBSP"]):
            with self.subTest(overrides):
                ended = self.end_job(*overrides, "spec.chaos.enabled=true",
                                     "spec.chaos.delays=[{kind: PerSample, secondsPerSample: 0.0005, workers: [1]}]")
                self.assert_succeeded(ended)
                self.assertGreaterEqual(self.counts(ended)[0][1], 4 * 640)

    def test_what_a_worker_of_it_raises_is_the_script_s_last_word(self):
        ended = self.end_job("spec.runPolicy.backoffLimit=0", "spec.training.stop={maxEpochs: 20}", arguments=["bad"])
        self.assertNotEqual(ended.code, 0)
        self.assertIn("ValueError: sample 17 is no good (train.py, line 7, in a worker of the DataLoader)", ended.err)
        self.assertTrue(self.are_gone(self.loader_workers()))

    def begun(self):
        """A job that goes on for long, its two workers, and the four of their loaders."""
        running = self.start_job("spec.training.stop={maxEpochs: 100000}")
        workers = running.wait_for(lambda: len(running.workers()) == 2 and running.workers())
        children = running.wait_for(lambda: len(self.loader_workers()) == 4 and self.loader_workers())
        running.wait_for(lambda: any("bytes travel" in path.read_text() for path in self.folder.rglob("*worker-0.log")))
        return running, workers, children

    def test_a_killed_script_leaves_none(self):
        running, workers, children = self.begun()
        own = [child for child in children if self.parent(child) == workers[0]]
        self.assertEqual(len(own), 2)
        os.kill(workers[0], signal.SIGKILL)
        running.wait_for(lambda: self.are_gone(own), deadline_s=4)  # PyTorch's own watch takes five seconds.
        running.wait_for(lambda: running.workers().get(0) not in (None, workers[0]))
        running.process.send_signal(signal.SIGINT)
        self.assertEqual(running.wait().code, 130)

    def test_ctrl_c_leaves_none(self):
        running, _, children = self.begun()
        running.process.send_signal(signal.SIGINT)
        ended = running.wait()
        self.assertEqual(ended.code, 130, ended.words())
        self.assertTrue(self.are_gone(children))
        self.assertNotIn("Traceback", ended.worker_logs())

    @staticmethod
    def parent(process):
        return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])


if __name__ == "__main__":
    unittest.main()
