"""A script computes on versions where the parameter servers have published them; views that it keeps see each of them."""
import json
import os
import re
import signal
import unittest
from pathlib import Path

import torch
from safetensors.torch import load_file

from jobs import JobTest

WHERE = ("spec.parameterServer.shards=2", "spec.training.learningRate={base: 0.01}")
COPIED = "versions are copied, not computed on in their place"


class VersionsTest(JobTest):
    def said(self, worker):
        return json.loads((self.folder / f"versions-{worker}.json").read_text())

    def train(self, how, *overrides, steps=12, **options):
        self.script("versions.py")
        ended = self.run_job(*WHERE, f"spec.training.stop={{maxSteps: {steps}}}", *overrides, arguments=[how], **options)
        self.assertNotIn("Traceback", ended.worker_logs(), ended.words())
        return load_file(self.assert_succeeded(ended)["model"]), ended

    def assert_same(self, one, other):
        self.assertEqual(set(one), set(other))
        for name, value in one.items():
            self.assertTrue(torch.equal(value, other[name]), name)

    def test_views_see_each_version_bit_by_bit_as_copies_are(self):
        shown, ended = self.train("mixed", "spec.sync.scheme=BSP")
        one, other = self.said(0), self.said(1)
        self.assertEqual(one["digests"], other["digests"])
        self.assertEqual(len(set(one["digests"])), 12)
        self.assertEqual(one["published"], [True] * 12)
        self.assertEqual(other["published"], [False] * 12)
        self.assertNotIn(COPIED, ended.worker_logs())
        copied, _ = self.train("copied", "spec.sync.scheme=BSP", "spec.network.transport=Sockets")
        self.assertEqual(self.said(0)["digests"], one["digests"])
        self.assert_same(shown, copied)

    def test_the_model_keeps_its_last_values_in_memory_of_its_own(self):
        self.train("shown")
        for worker in (0, 1):
            said = self.said(worker)
            self.assertEqual(said["after"], said["last"])
            self.assertEqual(said["model"], said["last"])
            self.assertFalse(said["published_after"])

    def test_what_a_script_writes_to_a_parameter_is_gone_with_the_next_version(self):
        copied, _ = self.train("copied")
        digests = self.said(0)["digests"]
        touched, ended = self.train("touched")
        for worker in (0, 1):
            self.assertEqual(self.said(worker)["digests"], digests)
            self.assertEqual(self.said(worker)["published"], [True] * 12)
        self.assert_same(touched, copied)
        self.assertNotIn(COPIED, ended.worker_logs())

    def test_whoever_writes_much_gets_copies_from_then_on(self):
        copied, _ = self.train("copied")
        digests = self.said(0)["digests"]
        written, ended = self.train("written")
        for worker in (0, 1):
            self.assertEqual(self.said(worker)["digests"], digests)
            self.assertEqual(self.said(worker)["published"], [True] * 2 + [False] * 10)
            log = ended.logs()[f"mine-worker-{worker}"]
            self.assertEqual(len(re.findall(f"{COPIED}.*the model writes to its own parameters", log)), 1, log)
        self.assert_same(written, copied)

    def test_a_child_keeps_what_it_was_forked_with(self):
        self.train("forked")
        for worker in (0, 1):
            said = self.said(worker)
            self.assertEqual(said["status"], 0)
            self.assertEqual(said["child"], said["digests"][3])
            self.assertEqual(said["published"], [True] * 4 + [False] + [True] * 8)

    def test_every_scheme_sees_what_it_computes_on(self):
        for scheme in ("DBW", "WBSP", "PSPlus", "ASP"):
            with self.subTest(scheme=scheme):
                self.train("mixed", f"spec.sync.scheme={scheme}", steps=60)
                losses = [self.said(worker)["losses"] for worker in (0, 1)]
                for worker in (0, 1):
                    self.assertEqual(self.said(worker)["after"], self.said(worker)["model"])
                # One that comes late has made a few steps, of eight samples each: they may be of any loss.
                self.assertLess(min(losses[0][-5:] + losses[1][-5:]), max(losses[0][0], losses[1][0]))
                # Local steps write to what they compute on.
                self.assertEqual(any(self.said(0)["published"]), scheme in ("DBW", "ASP"))

    def test_the_coordinator_may_be_killed(self):
        self.train_while_one_is_killed(0)

    def test_a_shard_may_be_killed(self):
        self.train_while_one_is_killed(1)

    def train_while_one_is_killed(self, rank):
        self.script("versions.py")
        volume = f"{{hostPath: {{path: {self.folder}/kept, type: DirectoryOrCreate}}}}"
        running = self.start(*WHERE, "spec.training.stop={maxSteps: 300}", f"spec.checkpoint={{periodSeconds: 100ms, volume: {volume}}}",
                             "spec.runPolicy.backoffLimit=3", arguments=["mixed"])
        running.wait_for(lambda: sum("begun" in text for text in self.logs_of_workers(running)) == 2, 120)
        os.kill(running.wait_for(lambda: self.server(running, rank)), signal.SIGKILL)
        ended = running.wait()
        self.assert_succeeded(ended)
        self.assertIn(f"mine-ps-{rank} was killed by signal 9; it is started again", ended.err)
        one, other = self.said(0), self.said(1)
        self.assertGreater(len(set(one["digests"]) & set(other["digests"])), 200)
        self.assertTrue(one["published"][-1])
        self.assertEqual(one["last"], other["last"])
        self.assertEqual(one["after"], one["last"])

    def logs_of_workers(self, running):
        return [path.read_text(errors="replace") for path in running.folder.rglob("*-worker-*.log")]

    def server(self, running, rank):
        """The process of that shard."""
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, ValueError):
                continue
            if parent == running.process.pid and words[0].endswith(b"paceline-ps") and b"--rank" in words:
                if words[words.index(b"--rank") + 1] == str(rank).encode():
                    return int(entry.name)
        return None


if __name__ == "__main__":
    unittest.main()
