#!/usr/bin/env python3
"""paceline simulate as a user has it: the scenarios of the tree, what docs/simulation.md says of them, and what is refused.

    tests/integration/simulate_test.py BUILD
"""
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = sorted((ROOT / "simulator" / "scenarios").glob("*.yaml"))
DIGITS = ROOT / "simulator" / "scenarios" / "digits.yaml"
MIXED = ROOT / "simulator" / "scenarios" / "mixed.yaml"
PAGE = (ROOT / "docs" / "simulation.md").read_text(encoding="utf-8")
PROGRAM = Path(sys.argv.pop(1)).resolve() / "bin" / "paceline"
_NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?")
BSP = ["--set", "spec.sync={scheme: BSP}"]  # In the place of a sample's own scheme.


def paceline(*words, **options):
    return subprocess.run([PROGRAM, *words], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False, **options)


def simulate(*words):
    return paceline("simulate", *words)


class SimulateTest(unittest.TestCase):
    def test_scenarios_of_the_tree_reach_their_ends(self):
        self.assertTrue(SCENARIOS)
        for path in SCENARIOS:
            with self.subTest(path.name):
                done = simulate(path, "-o", "json")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                rows = json.loads(done.stdout)
                self.assertEqual({row["ending"] for row in rows}, {"target"})
                self.assertEqual(len(rows), len({(row["arm"], row["seed"]) for row in rows}))

    def test_the_page_shows_what_is_printed(self):
        """But for what LibTorch rounds otherwise on another kind of processor: a loss is then reached a step sooner or later."""
        for command, shown in re.findall(r"```console\n\$ paceline simulate (\S+)\n(.*?)```", PAGE, re.DOTALL):
            printed = simulate(command).stdout
            self.assertEqual([_NUMBER.sub("N", line).split() for line in printed.splitlines()],
                             [_NUMBER.sub("N", line).split() for line in shown.splitlines()])
            for got, want in zip(_NUMBER.findall(printed), _NUMBER.findall(shown)):
                self.assertAlmostEqual(float(got), float(want), delta=max(1.0 if "." not in want else 0.01, 0.03 * float(want)),
                                       msg=f"{command}\n{printed}")

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

    def test_lives_are_drawn_and_told_moment_by_moment(self):
        with tempfile.TemporaryDirectory() as folder:
            plot = Path(folder) / "plot.svg"
            done = simulate(MIXED, "-o", "json", "--timelines", folder, "--plot", plot)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout, simulate(MIXED, "-o", "json").stdout)
            rows = json.loads(done.stdout)
            self.assertEqual({path.name for path in Path(folder).glob("*.json")}, {f"{row['arm']}-{row['seed']}.json" for row in rows})
            told = json.loads((Path(folder) / "dbw-interrupt-1.json").read_text(encoding="utf-8"))["traceEvents"]
            row = next(row for row in rows if (row["arm"], row["seed"]) == ("dbw-interrupt", 1))
            self.assertEqual(sum(event["name"] == "gave up" for event in told), row["interrupted"])
            self.assertEqual(sum(event["pid"] == 1 and event["ph"] == "i" for event in told), row["steps"])
            drawn = plot.read_text(encoding="utf-8")
            self.assertEqual(drawn.count("<polyline"), 2 * len(rows))
            self.assertIn(">dbw-interrupt</text>", drawn)
            for flag in ("--timelines", "--traces"):
                absent = simulate(MIXED, flag, Path(folder) / "absent")
                self.assertEqual(absent.returncode, 2)
                self.assertIn("absent", absent.stderr)
            unwritable = simulate(MIXED, "--plot", Path(folder) / "absent" / "plot.svg")
            self.assertNotEqual(unwritable.returncode, 0)
            self.assertIn("absent/plot.svg", unwritable.stderr)

    def test_what_is_wrong_is_told_with_its_line(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(MIXED.read_text(encoding="utf-8").replace("seeds: 3", "seeds: -1").replace("{scheme: ASP}", "{scheme: PSPlus, psPlus: {depth: 0}}"))
            file.flush()
            refused = simulate(file.name)
            self.assertEqual((refused.returncode, refused.stdout), (2, ""))
            self.assertIn("line 8: spec.seeds: must be at least 1: got -1", refused.stderr)
            self.assertIn("line 30: spec.arms[6].sync.psPlus.depth: must be", refused.stderr)
    def test_files_of_a_model_are_found_beside_the_scenario_and_judged(self):
        samples = ROOT / "deploy" / "samples" / "digits"
        text = DIGITS.read_text(encoding="utf-8").replace("../../deploy/samples/digits/", "data/").replace("seeds: 3", "seeds: 1")
        def with_model(model, train="train.safetensors"):
            scenario.write_text(text.replace("digits/mlp.pt", model).replace("train.safetensors", train), encoding="utf-8")
            return simulate(scenario, "-o", "csv")
        with tempfile.TemporaryDirectory() as folder:
            scenario = Path(folder) / "own.yaml"
            (Path(folder) / "data").symlink_to(samples)
            (Path(folder) / "digits").symlink_to(DIGITS.parent / "digits")
            whole = with_model("digits/mlp.pt")
            self.assertEqual((whole.returncode, whole.stderr), (0, ""))
            absent = with_model("digits/lstm.pt", "training.safetensors")
            self.assertEqual((absent.returncode, absent.stdout), (2, ""))
            self.assertIn("line 12: spec.objective.model: must be a file, relative to the scenario's: got \"digits/lstm.pt\", and there is no "
                          f"{folder}/digits/lstm.pt", absent.stderr)
            self.assertIn("line 13: spec.objective.train: must be a file", absent.stderr)
            self.assertEqual(with_model("digits/mlp.pt", "tr*.safetensors").stdout, whole.stdout)
            wrong = with_model("digits/export_mlp.py")
            self.assertEqual(wrong.returncode, 2)
            self.assertIn("line 12: spec.objective: ", wrong.stderr)
            self.assertIn("export_mlp.py", wrong.stderr)

    def test_injected_traces_are_found_beside_the_scenario_and_judged(self):
        def with_table(text):
            with tempfile.TemporaryDirectory() as folder:
                scenario = Path(folder) / "own.yaml"
                chaos = "    chaos: {enabled: true, delays: [{kind: Constant, seconds: 0.001}, {kind: Trace, trace: tables/own.csv}]}\n"
                scenario.write_text(MIXED.read_text(encoding="utf-8").replace("  arms:\n", chaos + "  arms:\n"), encoding="utf-8")
                if text:
                    (Path(folder) / "tables").mkdir()
                    (Path(folder) / "tables" / "own.csv").write_text(text, encoding="utf-8")
                return simulate(scenario, "-o", "json")
        seconds = [row["seconds"] for row in json.loads(with_table("0\n").stdout)]
        slower = [row["seconds"] for row in json.loads(with_table("0.5\n").stdout)]
        self.assertTrue(all(one < other for one, other in zip(seconds, slower)), (seconds, slower))
        wrong = with_table("0.1\nslow\n")
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
        self.assertIn("spec.cluster.chaos.delays[1].trace: must be a table of seconds, relative to the scenario's file: got \"tables/own.csv\": line 2", wrong.stderr)
        self.assertIn("tables/own.csv", with_table("").stderr)

    def test_a_scenario_that_is_not_there_is_named(self):
        absent = simulate("/no/such/scenario.yaml")
        self.assertEqual(absent.returncode, 2)
        self.assertIn("/no/such/scenario.yaml", absent.stderr)


class RecordedRunTest(unittest.TestCase):
    """Of one short run: every second worker half as fast, with momentum."""

    @classmethod
    def setUpClass(cls):
        cls.runs = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.runs.cleanup)
        ran = paceline("run", "deploy/samples/digits-h2.yaml", "--runs", cls.runs.name, *BSP, "--set", "spec.training.stop={maxEpochs: 2}")
        if ran.returncode != 0:
            raise AssertionError(ran.stderr)
        cls.run_folder, = (path for path in Path(cls.runs.name).iterdir() if path.is_dir() and not path.is_symlink())

    def test_its_cluster_is_found_and_simulated(self):
        run = self.run_folder
        with tempfile.TemporaryDirectory() as folder:
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

    def test_what_would_have_been_faster_is_said(self):
        advised = paceline("advise", self.run_folder, "-o", "json", "--seeds", "3", "--quick")
        self.assertEqual((advised.returncode, advised.stderr), (0, ""))
        advice = json.loads(advised.stdout)
        arms = {arm["arm"]: arm for arm in advice["arms"]}
        self.assertEqual((advice["workers"], advice["optimizer"], advice["momentum"]), (4, "SGD", 0.9))
        self.assertTrue(arms["bsp"]["recorded"])
        self.assertEqual({name for name, arm in arms.items() if arm["risky"]}, {"ssp:1", "ssp:3", "ssp:8", "asp", "kbatchasync:2", "wbsp:overlap", "psplus"})
        # Who shares batches by speed does not wait for the slow ones: 64 ms instead of 96, were there nothing else.
        shared = arms["lbbsp:ema"]
        self.assertGreater(shared["equal_rates"]["speed"]["low"], 1.05)
        self.assertLess(shared["equal_rates"]["step_seconds"], arms["bsp"]["equal_rates"]["step_seconds"])
        self.assertFalse(arms[advice["best"]]["risky"])
        # What is advised is a manifest's, of this very job.
        checked = paceline("validate", "deploy/samples/digits-h2.yaml", "--set", f"spec.sync={advice['sync']}")
        self.assertEqual(checked.returncode, 0, checked.stderr)
        again = paceline("advise", self.run_folder, "-o", "json", "--seeds", "3", "--quick")
        self.assertEqual(again.stdout, advised.stdout)

    def test_advice_for_people_has_lines_to_paste(self):
        text = paceline("advise", self.run_folder, "--seeds", "2", "--quick").stdout
        self.assertIn("bsp (recorded)", text)
        self.assertRegex(text, r"In the manifest:\n\nspec:\n  sync:\n    scheme: ")
        self.assertIn("Not known:", text)

    def test_advice_is_of_the_jobs_own_model_where_it_can_be(self):
        def advise(*words):
            done = paceline("advise", run, "--seeds", "2", *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return done.stdout
        with tempfile.TemporaryDirectory() as folder:
            # A target that is reached in some versions; the job as it was recorded, but for that.
            run = Path(folder) / "run"
            shutil.copytree(self.run_folder, run)
            job = json.loads((run / "job.json").read_text(encoding="utf-8"))
            job["spec"]["training"]["stop"]["target"] = {"metric": "Accuracy", "value": 0.5}
            job["spec"]["evaluator"] = {"periodSeconds": "100ms"}
            (run / "job.json").write_text(json.dumps(job), encoding="utf-8")
            advice = json.loads(advise("-o", "json"))
            self.assertEqual((advice["judged_on"], advice["why_no_model"]), ("model", None))
            model = advice["model"]
            self.assertEqual((model["name"], model["until"], model["learning_rate"], model["seeds"]), ("digits/cnn.pt", "accuracy 0.5", 0.05, 2))
            self.assertEqual(model["not_simulated"], ["weight decay 0.0005"])
            arms = {arm["arm"]: arm for arm in model["arms"]}
            self.assertIn("auto", arms)
            self.assertTrue(arms["bsp"]["recorded"])
            self.assertEqual(arms["bsp"]["equal_rates"]["failed"], 0)
            # A version lasts as long as on the quadratic: what it is worth is the model's, what it takes the cluster's.
            on_quadratic = next(arm for arm in advice["arms"] if arm["arm"] == "bsp")["equal_rates"]["step_seconds"]
            self.assertAlmostEqual(arms["bsp"]["equal_rates"]["step_seconds"] / on_quadratic, 1, delta=0.15)
            self.assertIn(advice["best"], [None, *(name for name, arm in arms.items() if not arm["risky"])])
            # Where the manifest lay is known; elsewhere, or nowhere, the quadratic is all there is, and that is said.
            (run / "manifest.folder").write_text(folder + "\n", encoding="utf-8")
            self.assertIn(f"Not tried on the job's own model: ", advise())
            self.assertIn(f"{folder}/digits/train.safetensors", json.loads(advise("-o", "json"))["why_no_model"])
            (run / "manifest.folder").unlink()
            self.assertIn("the run does not say where its manifest lay: --folder DIR does", advise())
            moved = json.loads(advise("-o", "json", "--folder", ROOT / "deploy" / "samples"))
            self.assertEqual(moved["model"], model)
        self.assertIn("Not tried on the job's own model: the job has no target", paceline("advise", self.run_folder, "--seeds", "2").stdout)

    def test_advice_wants_a_trace_that_tells_enough(self):
        with tempfile.TemporaryDirectory() as folder:
            absent = paceline("advise", folder)
            self.assertEqual((absent.returncode, absent.stdout), (2, ""))
            self.assertIn(f"cannot read {folder}/policy.trace", absent.stderr)
            trace = (self.run_folder / "policy.trace").read_text(encoding="utf-8").splitlines(keepends=True)
            pushes = [number for number, line in enumerate(trace) if " push w" in line]
            (Path(folder) / "policy.trace").write_text("".join(trace[:pushes[30]]), encoding="utf-8")
            short = paceline("advise", folder)
            self.assertEqual((short.returncode, short.stdout), (2, ""))
            self.assertIn("too few pushes", short.stderr)

    def test_it_is_decided_alike_again(self):
        again = paceline("replay", self.run_folder)
        self.assertEqual((again.returncode, again.stderr), (0, ""))
        self.assertIn("of 1 policy: each is decided alike again", again.stdout)

    def test_a_decision_that_was_another_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = (self.run_folder / "policy.trace").read_text(encoding="utf-8")
            (Path(folder) / "policy.trace").write_text(trace.replace("  commit scale=", "  commit scale=2", 1), encoding="utf-8")
            other = paceline("replay", folder)
            self.assertEqual(other.returncode, 1)
            self.assertRegex(other.stdout, r"then, in line \d+,\n  recorded: commit scale=2")
            alone = paceline("replay", Path(folder) / "policy.trace", "--with", "sync.scheme=ASP")
            self.assertEqual(alone.returncode, 2)
            self.assertIn("a trace alone does not say its job", alone.stderr)

    def test_what_another_policy_would_have_decided_is_said(self):
        fewer = paceline("replay", self.run_folder, "--with", "sync.scheme=BackupWorkers", "--with", "sync.backupWorkers.count=2")
        self.assertEqual((fewer.returncode, fewer.stderr), (0, ""))
        self.assertIn("The first difference, in line ", fewer.stdout)
        # Where an epoch ends, those who are out of data are not waited for.
        self.assertRegex(fewer.stdout, r"have waited for (2\.\d+|1\.9\d) \(\d to [234]\) pushes in the mean, where the recorded one waited for (4\.00|3\.9\d) ")
        same = paceline("replay", self.run_folder, "--with", "sync.scheme=BSP")
        self.assertIn("it would have decided all as it was recorded", same.stdout)
        wrong = paceline("replay", self.run_folder, "--with", "sync.dbw.window=0")
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
        self.assertIn("spec.sync.dbw.window", wrong.stderr)

    def test_what_cannot_be_read_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            absent = paceline("calibrate", folder)
            self.assertEqual((absent.returncode, absent.stdout), (2, ""))
            self.assertIn(f"cannot read {folder}/policy.trace", absent.stderr)
            (Path(folder) / "policy.trace").write_text("policy BSP batch=8 workers=1\n@0 sing w0\n", encoding="utf-8")
            wrong = paceline("calibrate", folder)
            self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
            self.assertIn("line 2", wrong.stderr)


class OneMachineTest(unittest.TestCase):
    """Of a short run whose workers are delayed at random, by injected delays."""

    def test_what_was_not_injected_is_no_gain_where_all_shared_a_machine(self):
        def advise(path):
            done = paceline("advise", path, "-o", "json", "--seeds", "3", "--quick")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            advice = json.loads(done.stdout)
            return advice["on_one_machine"], advice["best"], advice["refused"]
        with tempfile.TemporaryDirectory() as folder:
            ran = paceline("run", "deploy/samples/digits-jitter.yaml", "--runs", folder, *BSP, "--set", "spec.training.stop={maxEpochs: 2}")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            run, = (path for path in Path(folder).iterdir() if path.is_dir() and not path.is_symlink())
            shared, best, refused = advise(run)
            self.assertTrue(shared)
            self.assertIsNotNone(best)
            self.assertIsNone(refused)
            # The same delays, had nobody injected them: what processes of one machine do to each other.
            trace = run / "policy.trace"
            told = trace.read_text(encoding="utf-8")
            self.assertIn(" injected=", told)
            trace.write_text(re.sub(r" injected=\S+", "", told), encoding="utf-8")
            shared, none, refused = advise(run)
            self.assertEqual((shared, none, refused["arm"]), (True, None, best))
            self.assertGreater(refused["speed"]["median"], 1.3)
            self.assertLess(refused["still_speed"]["median"], 1.05)
            text = paceline("advise", run, "--seeds", "3", "--quick").stdout
            self.assertIn(f"Nothing would have been faster than bsp: {best} was ", text)
            # Of a trace alone, or from another place, all that workers do is their own.
            self.assertEqual(advise(trace)[0], False)
            self.assertIsNotNone(advise(trace)[1])
            (run / "coordinator.url").write_text("http://10.1.2.3:8080\n", encoding="utf-8")
            self.assertEqual(advise(run), (False, best, None))
            (run / "coordinator.url").unlink()
            self.assertEqual(advise(run), (False, best, None))


if __name__ == "__main__":
    unittest.main()
