"""The samples with a training loop of their own reach what their page says."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from safetensors.torch import load_file

from jobs import BIN

SAMPLES = Path(__file__).parents[2] / "deploy" / "samples" / "python"
TIMEOUT_S = 400


class SamplesTest(unittest.TestCase):
    def run_sample(self, name, *overrides):
        scratch = tempfile.TemporaryDirectory(prefix="paceline-sample-")
        self.addCleanup(scratch.cleanup)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run([str(BIN / "paceline"), "run", str(SAMPLES / f"{name}.yaml"), "-o", "json", *overrides], cwd=scratch.name,
                              env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        return json.loads(done.stdout)

    def test_images(self):
        summary = self.run_sample("images")
        self.assertGreater(summary["accuracy"], 0.97)
        self.assertGreaterEqual(summary["metrics"]["top2"], summary["accuracy"])

    def test_gpt(self):
        """One of its three epochs, which cost fifteen seconds of processor each: a text of single letters alone has 4.6 bits a character."""
        summary = self.run_sample("gpt", "--set", "spec.training.stop.maxEpochs=1")
        self.assertLess(summary["metrics"]["bits_per_character"], 3.5)
        names = load_file(summary["model"]).keys()
        self.assertIn("embed.weight", names)
        self.assertNotIn("head.weight", names)

    def test_clicks(self):
        summary = self.run_sample("clicks")
        self.assertGreater(summary["metrics"]["auc"], 0.9)

    def test_each_says_what_it_reaches(self):
        page = (SAMPLES / "README.md").read_text()
        for sample in SAMPLES.glob("*.yaml"):
            self.assertRegex(page, re.compile(rf"^\| `{sample.stem}` .*\d+ s, .*\|$", re.MULTILINE))


if __name__ == "__main__":
    unittest.main()
