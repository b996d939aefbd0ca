"""Runs docs/tutorial.md as it stands: its files written, its commands typed, in a Python that has the wheel installed. README.md's script takes the
place of the tutorial's afterwards."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = Path(os.environ["PACELINE_BIN"]).parent
FENCE = re.compile(r"^```(\S+)?(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page="docs/tutorial.md"):
    for language, name, text in FENCE.findall((ROOT / page).read_text()):
        yield language, name, text


class TutorialTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="paceline-tutorial-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.environment = {name: value for name, value in os.environ.items()
                            if name not in ("PYTHONPATH", "PACELINE_WORKER_LIBRARY")}
        self.environment["PATH"] = f"{self.make_python()}:{BUILD / 'bin'}:{os.environ['PATH']}"

    def make_python(self):
        """An environment with PyTorch and pip, as a user has it; gives the folder of its programs."""
        made = self.folder / "python"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(made)], check=True)
        site = next(made.glob("lib/python3.*/site-packages"))
        theirs = next(path for path in sys.path if path.endswith("site-packages"))
        (site / "torch.pth").write_text(f"{theirs}\nimport os; os.environ['CUDA_VISIBLE_DEVICES'] = ''\n")
        pip = made / "bin" / "pip"
        pip.write_text(f'#!/bin/sh\nexec /usr/bin/python3 -m pip --python {made}/bin/python "$@" --disable-pip-version-check\n')
        pip.chmod(0o755)
        return made / "bin"

    def type(self, command, folder):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder, env=self.environment,
                              capture_output=True, text=True, timeout=240, check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-5000:]}")
        return done.stdout + done.stderr

    def test_it_works_as_it_stands(self):
        said = {}
        for language, name, text in blocks():
            if language == "sh" and name == "setup":
                for command in text.splitlines():
                    if command.startswith("pip"):  # Built it is, and found by PATH.
                        wheels = self.folder / "build" / "wheel"
                        self.type(f"{sys.executable} {ROOT}/tools/wheel {BUILD} {wheels}", self.folder)
                        self.type(command, self.folder)
            elif language in ("python", "yaml") and name:
                (self.folder / name).write_text(text)
            elif language == "sh" and not name:
                for command in text.splitlines():
                    said[command] = self.type(command, self.folder)
        self.assertRegex(said["python train.py"], r"'accuracy': tensor\(0\.[6-9]")
        for command in ("paceline run job.yaml", "paceline run job.yaml --set spec.sync.scheme=DBW"):
            accuracy = float(re.search(r"accuracy +([0-9.]+) %", said[command]).group(1))
            self.assertGreater(accuracy, 60, command)
        use = next(command for command in said if command.startswith("python use.py"))
        self.assertRegex(said[use], r"^arm [012]$")
        self.try_the_script_of_the_first_page()

    def try_the_script_of_the_first_page(self):
        """Alone, and as the workers of the tutorial's job, which then has no evaluator: the script does not judge."""
        [script] = [text for language, name, text in blocks("README.md") if (language, name) == ("python", "train.py")]
        (self.folder / "train.py").write_text(script)
        job = self.folder / "job.yaml"
        job.write_text(re.sub(r"^ *evaluator:.*\n", "", job.read_text(), flags=re.MULTILINE))
        self.type("python train.py", self.folder)
        self.assertIn("model.safetensors", self.type("paceline run job.yaml", self.folder))

    def test_what_is_not_run_says_that_it_needs_a_cluster(self):
        shells = [(name, text) for language, name, text in blocks() if language == "sh"]
        self.assertEqual({name for name, _ in shells}, {"", "setup", "cluster"})
        self.assertTrue(all("kubectl" not in text or name == "cluster" for name, text in shells))


if __name__ == "__main__":
    unittest.main()
