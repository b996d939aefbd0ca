#!/usr/bin/env python3
"""paceline simulate as a user has it: the scenarios of the tree, what docs/simulation.md says of them, and what is refused.

    tests/integration/simulate_test.py BUILD
"""
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = sorted((ROOT / "simulator" / "scenarios").glob("*.yaml"))
MIXED = ROOT / "simulator" / "scenarios" / "mixed.yaml"
PAGE = (ROOT / "docs" / "simulation.md").read_text(encoding="utf-8")
PROGRAM = Path(sys.argv.pop(1)).resolve() / "bin" / "paceline"


def paceline(*words, **options):
    return subprocess.run([PROGRAM, *words], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False, **options)


def simulate(*words):
    return paceline("simulate", *words)


class SimulateTest(unittest.TestCase):
    def test_scenarios_of_the_tree_reach_their_ends_and_give_equal_bytes(self):
        self.assertTrue(SCENARIOS)
        for path in SCENARIOS:
            with self.subTest(path.name):
                once, again = simulate(path, "-o", "json"), simulate(path, "-o", "json")
                self.assertEqual((once.returncode, once.stderr), (0, ""))
                self.assertEqual(once.stdout, again.stdout)
                rows = json.loads(once.stdout)
                self.assertEqual({row["ending"] for row in rows}, {"target"})
                self.assertEqual(len(rows), len({(row["arm"], row["seed"]) for row in rows}))

    def test_the_page_shows_what_is_printed(self):
        for command, shown in re.findall(r"```console\n\$ paceline simulate (\S+)\n(.*?)```", PAGE, re.DOTALL):
            self.assertEqual(simulate(command).stdout, shown)

    def test_the_page_has_every_field(self):
        readers = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "simulator" / "scenario").glob("*.cc"))
        fields = set(re.findall(r'(?:Take|Require|ForEach)\((?:fields, )?"(\w+)"', readers))
        self.assertGreater(len(fields), 40)
        missing = {field for field in fields if not re.search(rf"\b{field}\b", PAGE)}
        self.assertEqual(missing, set())

    def test_traces_are_written_where_it_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(simulate(MIXED, "--traces", folder).returncode, 0)
            traces = {path.name: path.read_text(encoding="utf-8") for path in Path(folder).iterdir()}
        self.assertIn("bsp-1.trace", traces)
        for trace in traces.values():
            self.assertTrue(trace.startswith("policy "))
            self.assertIn("\n@", trace)

    def test_what_is_wrong_is_told_with_its_line(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(MIXED.read_text(encoding="utf-8").replace("seeds: 3", "seeds: -1").replace("{scheme: ASP}", "{scheme: PSPlus, psPlus: {depth: 0}}"))
            file.flush()
            refused = simulate(file.name)
            self.assertEqual((refused.returncode, refused.stdout), (2, ""))
            self.assertIn("line 8: spec.seeds: must be at least 1: got -1", refused.stderr)
            self.assertIn("line 30: spec.arms[6].sync.psPlus.depth: must be", refused.stderr)
        absent = simulate("/no/such/scenario.yaml")
        self.assertEqual(absent.returncode, 2)
        self.assertIn("/no/such/scenario.yaml", absent.stderr)


class CalibrateTest(unittest.TestCase):
    def test_a_runs_cluster_is_found_and_simulated(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = paceline("run", "deploy/samples/digits-h2.yaml", "--runs", folder, "--set", "spec.training.stop={maxEpochs: 2}")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            run, = (path for path in Path(folder).iterdir() if path.is_dir() and not path.is_symlink())
            made = paceline("calibrate", run)
            self.assertEqual((made.returncode, made.stderr), (0, ""))
            # What the sample makes of it: every second worker half as fast. Bounds for a machine that does other work, too.
            speeds = {worker: float(speed) for speed, worker in re.findall(r"- speed: (\S+)  # (w\d)", made.stdout)}
            fast, slow = (speeds["w0"] + speeds["w2"]) / 2, (speeds["w1"] + speeds["w3"]) / 2
            self.assertLess(slow, 0.8 * fast, made.stdout)
            self.assertGreater(slow, 0.3 * fast, made.stdout)
            scenario = Path(folder) / "cluster.yaml"
            scenario.write_text(made.stdout, encoding="utf-8")
            simulated = simulate(scenario, "-o", "json")
            self.assertEqual((simulated.returncode, simulated.stderr), (0, ""))
            self.assertIn("recorded", {row["arm"] for row in json.loads(simulated.stdout)})

    def test_what_cannot_be_read_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            absent = paceline("calibrate", folder)
            self.assertEqual((absent.returncode, absent.stdout), (2, ""))
            self.assertIn(f"{folder}/policy.trace cannot be read", absent.stderr)
            (Path(folder) / "policy.trace").write_text("policy BSP batch=8 workers=1\n@0 sing w0\n", encoding="utf-8")
            wrong = paceline("calibrate", folder)
            self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
            self.assertIn("line 2", wrong.stderr)


if __name__ == "__main__":
    unittest.main()
