#!/usr/bin/env python3
"""What tests/reproduce/reproduce.py makes of lives is right, and docs/reproduction says what the checked-in rows do.

    tests/reproduce/reproduce_test.py BUILD
"""
import contextlib
import dataclasses
import io
import json
import math
import os
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from unittest import mock

import auto
import auto_page
import auto_rates
import dbw
import experiments
import lb_bsp
import page
import plot
import predictors
import rates
import reproduce
import wbsp
from experiment import BEST, RATES_PART, ROW, SAME, STEPS, Experiment, Lab, Measured, Setting, part_said
from lives import FAILED

BUILD = sys.argv.pop(1)


def shortened(experiment):
    """Its lives end as soon as they have begun to learn; of every fixed k of DBW's settings there are a few."""
    def of(setting):
        loss = 2.29 if "model" in setting.spec["objective"] else 0.97
        arms = {arm: sync for arm, sync in setting.arms.items() if arm not in dbw.FIXED | dbw.FIXED_INTERRUPTED or arm in ("bsp", "b8", "b8I")}
        return dataclasses.replace(setting, arms=arms, spec={**setting.spec, "stop": {"loss": loss, "seconds": 1000}})
    return dataclasses.replace(experiment, settings=[of(setting) for setting in experiment.settings])


class RowsTest(unittest.TestCase):
    def check_form(self, row):
        self.assertEqual(tuple(row), ROW)
        self.assertTrue(all(isinstance(row[name], str) and row[name] for name in ("experiment", "arm", "setting", "unit")), row)
        self.assertGreaterEqual(row["seeds"], 1)
        numbers = [row[name] for name in ("low", "value", "high")]
        self.assertTrue(all(number is None or math.isfinite(number) for number in numbers), row)
        if None not in numbers:
            self.assertEqual(numbers, sorted(numbers), row)

    @mock.patch.multiple(lb_bsp, TRACED=20, SKIPPED=6)
    def test_a_short_run_of_each_experiment_has_rows_for_all_arms_at_both_rates(self):
        for experiment in map(shortened, experiments.ALL):
            with self.subTest(experiment.name):
                measured = Measured(experiment, Lab(BUILD, 1, 2), lambda setting, _: setting.rate)
                rows = measured.all_rows()
                for row in rows:
                    self.check_form(row)
                steps = [(row["setting"], row["arm"]) for row in rows if row["unit"] == STEPS]
                self.assertEqual(steps, [(f"{setting.name}, {mode}", arm) for setting in experiment.settings
                                         for mode in (SAME, BEST) for arm in setting.arms])
                self.assertTrue(any(row["value"] is not None for row in rows if row["unit"] == STEPS))
                self.assertIn(experiment.settings[0].name, page.tables(rows))

    def test_checked_in_rows_are_of_all_experiments_and_their_best_rates_are_known(self):
        rows = page.read_rows(page.ROWS)
        for row in rows:
            self.check_form(row)
        self.assertLessEqual({one.name for one in experiments.ALL}, {row["experiment"] for row in rows})
        self.assertEqual(rates.Rates(rates.FILE).missing(experiments.ALL), [])

    def test_pages_and_plots_are_as_they_follow_from_the_rows(self):
        rows = page.read_rows(page.ROWS)
        for path in page.pages():
            text = path.read_text(encoding="utf-8")
            self.assertTrue(page.filled(text, rows) == text, f"{path}: tests/reproduce/page.py rewrites it")
        for name, svg in page.plots(rows):
            self.assertTrue((page.FOLDER / name).read_text(encoding="utf-8") == svg, f"{name}: tests/reproduce/page.py rewrites it")


class CommandTest(unittest.TestCase):
    experiment = dataclasses.replace(shortened(wbsp.EXPERIMENT), settings=shortened(wbsp.EXPERIMENT).settings[:1], more=lambda _: [])

    def run_main(self, *words):
        with mock.patch.object(experiments, "ALL", [self.experiment]), mock.patch.object(sys, "argv", ["reproduce.py", BUILD, *words]), \
                contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
            reproduce.main()
        return out.getvalue()

    def test_it_refuses_without_best_rates_finds_them_with_full_and_writes_rows(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, JSON=f"{folder}/rows.json"):
            setting, file = self.experiment.settings[0], pathlib.Path(folder, "rates.json")
            words = ("--seeds", "1", "--rates", str(file), "--only", "wbsp")
            with self.assertRaisesRegex(SystemExit, "wbsp: H1: bsp\nwbsp: H1: ssp40"):
                self.run_main(*words)
            known = {arm: {"of": setting.digest(arm), "rate": 0.4, "tried": {}} for arm in setting.arms if arm != "bsp"}
            file.write_text(json.dumps({"wbsp": {"H1": known}}), encoding="utf-8")
            self.assertIn("| H1 | at 0.1: of bsp's time |", self.run_main(*words, "--full"))
            self.assertEqual({row["experiment"] for row in page.read_rows(pathlib.Path(folder, "rows.json"))}, {"wbsp"})
            self.assertIsNotNone(rates.Rates(file).best(self.experiment, setting, "bsp"))
            with self.assertRaises(SystemExit):
                self.run_main(*words, "--only", "nothing")

    def test_auto_is_one_of_them_with_rows_of_its_own(self):
        def measured(build, seeds, jobs):
            self.assertEqual((build, seeds, jobs), (BUILD, 1, 2))
            return [auto.row_of(auto.SINGLES, "asp", "0 any, D n8", auto.BESIDE, 1, (0.5, 0.4, FAILED))]
        def measured_at_best(build, seeds, jobs, clusters, known):
            self.assertEqual((build, seeds, jobs, len(clusters.settings), known.missing([clusters])), (BUILD, 1, 2, 58, []))
            return [auto.row_of(auto.SINGLES, "asp", f"0 any, D n8, {BEST}", auto.BESIDE, 1, (0.3,) * 3)]
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, JSON=f"{folder}/rows.json"), \
                mock.patch.object(auto, "measure_all", measured), mock.patch.object(auto_rates, "measure_all", measured_at_best):
            self.run_main("--seeds", "1", "--only", "auto")
            self.assertEqual([[row[name] for name in ("arm", "value", "low", "high")] for row in page.read_rows(pathlib.Path(folder, "rows.json"))],
                             [["asp", 0.5, 0.4, None], ["asp", 0.3, 0.3, 0.3]])
            with self.assertRaisesRegex(SystemExit, "auto: 0 homogeneous, D n8: bsp\nauto: 0 homogeneous, D n8: b2\n"):
                self.run_main("--only", "auto", "--rates", f"{folder}/rates.json")
            with mock.patch.object(auto_rates, "find", side_effect=KeyboardInterrupt) as find, self.assertRaises(KeyboardInterrupt):
                self.run_main("--only", "auto", "--full", "--seeds", "2")
            clusters, _, searched, everyone, jobs = find.call_args.args
            self.assertEqual((len(clusters.settings), searched.seeds, everyone.seeds, jobs), (58, 1, 2, 2))


def life(seconds, ending="target", steps=10, pushes=2):
    return {"seconds": seconds, "ending": ending, "steps": steps, "pushes_a_step": pushes, "computing": 0.5, "seed": 1}


class ArithmeticTest(unittest.TestCase):
    def measured(self, lives):
        """Of arms a and b at the rates 1, of all, and 2, the best: `lives` by arm and rate."""
        setting = Setting("s", {"cluster": {"workers": [{"count": 2}]}, "training": {}, "stop": {"seconds": 9}}, 1, {"a": {}, "b": {}})
        def run(_, arm, rate):
            return mock.Mock(result=lambda: [{**row, "arm": arm} for row in lives[arm, rate]])
        return Measured(Experiment("e", [setting], {("s, same rate", "b", "of a's time"): 0.4}), mock.Mock(lives=run, seeds=3), lambda *_: 2)

    def test_arms_are_beside_the_first_one_of_the_same_seed_and_published_figures_stand_there(self):
        rows = self.measured({("a", 1): [life(10), life(40), life(20)], ("b", 1): [life(5), life(10), life(10)],
                              ("a", 2): [life(4)] * 3, ("b", 2): [life(2), life(3, "seconds"), life(3)]}).all_rows()
        at = {(row["arm"], row["setting"], row["unit"]): row for row in rows}
        row = at["b", "s, same rate", "of a's time"]
        self.assertEqual([row[name] for name in ("value", "low", "high", "published", "seeds")], [0.5, 0.25, 0.5, 0.4, 3])
        row = at["b", "s, best rate", "of a's time"]
        self.assertEqual([row[name] for name in ("value", "low", "high")], [0.75, 0.5, None])
        self.assertEqual(at["a", "s, same rate", "seconds a step of all workers"]["value"], 2)
        self.assertAlmostEqual(at["b", "s", RATES_PART]["value"], 1 - math.log(0.75) / math.log(0.5))

    def test_who_gains_nothing_at_the_same_rate_has_no_part_of_it_from_a_larger_one(self):
        rows = self.measured({("a", 1): [life(10)], ("b", 1): [life(10)], ("a", 2): [life(4)], ("b", 2): [life(2)]}).all_rows()
        self.assertNotIn(RATES_PART, {row["unit"] for row in rows})

    def test_dbw_is_held_beside_the_fastest_fixed_k_of_its_kind(self):
        seconds = {"bsp": 10, "b8": 4, "b8I": 1, "noise": 8}
        setting = Setting("s", {"cluster": {"workers": [{"count": 2}]}, "training": {}, "stop": {"seconds": 9}}, 1, {arm: {} for arm in seconds})
        def run(_, arm, rate):
            return mock.Mock(result=lambda: [{**life(seconds[arm]), "arm": arm}])
        measured = Measured(Experiment("dbw", [setting]), mock.Mock(lives=run, seeds=1), lambda *_: 1)
        row = dbw.beside_best(measured, setting, "noise", SAME)
        self.assertEqual((row["unit"], row["value"]), ("times as fast as the best fixed k, b8", 0.5))

    def test_auto_is_beside_the_best_scheme_with_interrupts_and_without(self):
        def rows(setting, **values):
            return [auto.row_of(auto.SINGLES, arm, setting, auto.BESIDE, 3, (value, value, value)) for arm, value in values.items()]
        lines = list(auto_page.autos(rows("0 one, D n8", wbsp=0.5, b6I=0.25, ka2=0.8, auto=0.5, star=0.6) + rows("e0 other, Q n4", asp=1.5, b6I=1.2, auto=2.0, star=1.6)))
        self.assertEqual(lines[2:4], ["| 0 | one, D n8 | .50 (.50, .50) | WBSP .50 | 1.00 | bkI .25 | 0.50 | k-batch .80 | 1.60 | .60 (.60, .60) | 1.20 |",
                                      "| e0 | other, Q n4 | 2.00 (2.00, 2.00) | BSP 1.00 | 0.50 | BSP 1.00 | 0.50 | BSP 1.00 | 0.50 | 1.60 (1.60, 1.60) | 0.80 |"])
        self.assertEqual(lines[-1], "Of 2 scenarios, medians: 0.75 (worst 0.50, at least 0.9 in 1) of the best without interrupts; 0.50 (worst 0.50, at least 0.9 in 0) of "
                                    "the best of all; 1.05 (worst 0.50, at least 0.9 in 1) of the best of STAR's modes; 1.00 (worst 0.80, at least 0.9 in 1) of STAR's heuristic. Without interrupts: of the 28 1.00 (worst 1.00), "
                                    "at the edge 0.50 (worst 0.50). Geometric mean of its time beside BSP's: 1.000, of STAR's heuristic 0.980.")

    def test_lives_that_did_not_arrive_are_counted_beside_those_of_bsp_that_did(self):
        endings = {"bsp": [(10, "target"), (20, "target"), (9, "steps")], "auto": [(5, "target"), (30, "seconds"), (9, "seconds")]}
        def lives(spec, syncs):
            return [life(*end) | {"arm": arm} for arm in syncs for end in endings[arm]]
        scenario = auto.chosen(["edge"], ["e0"])[0][1]
        times, failed = auto.safety_rows(mock.Mock(run=lives), "e0", scenario)
        self.assertEqual((times["value"], times["low"], times["high"], times["seeds"], failed["value"]), (0.5, 0.5, None, 2, 1))
        self.assertEqual(list(auto_page.safety([times, failed]))[2], f"| e0 | {scenario.name}, D n8 | 2 | .50 (.50, -) | 1 |")

    def test_a_setting_is_another_once_anything_of_it_changes(self):
        setting = wbsp.EXPERIMENT.settings[0]
        arm = setting.baseline
        self.assertEqual(setting.digest(arm), dataclasses.replace(setting, name="other").digest(arm))
        for change in ({"rate": 7}, {"spec": {**setting.spec, "stop": {}}}, {"arms": {arm: {"scheme": "ASP"}}}):
            self.assertNotEqual(setting.digest(arm), dataclasses.replace(setting, **change).digest(arm))


class RatesTest(unittest.TestCase):
    def found(self, time_of, limit=1000):
        asked = []
        def time_at(place, at_most):
            asked.append(place)
            return time_of(place) if time_of(place) <= at_most else FAILED
        return rates.search(time_at, limit), asked

    def test_the_least_time_is_found_above_and_below_and_where_the_first_rate_is_too_large(self):
        for best in (-6, -5, -1, 0, 1, 4, 7):
            places, asked = self.found(lambda place, best=best: 10 + abs(place - best))
            self.assertEqual(places[0], best)
            self.assertEqual(len(asked), len(set(asked)))
        places, _ = self.found(lambda place: FAILED if place > -4 else 10 - place)
        self.assertEqual(places[0], -4)
        self.assertEqual(self.found(lambda _: FAILED)[0], [])

    def test_a_search_goes_on_where_it_was_left_and_takes_what_arrives_with_all_seeds(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "rates.json")
            experiment = shortened(wbsp.EXPERIMENT)
            setting = experiment.settings[0]
            arm = setting.baseline
            times = {rates.on_grid(setting.rate, place): 10 + abs(place - 2) for place in range(-40, 40)}
            asked = []
            def lab(fails_at=None, stops_after=99):
                def lives(_, arm, rate, limit=math.inf):
                    asked.append(rate)
                    if len(asked) > stops_after:
                        raise KeyboardInterrupt
                    return mock.Mock(result=lambda: [{"arm": arm, "seconds": times[rate], "ending": "seconds" if rate == fails_at else "target"}])
                return mock.Mock(lives=lives)
            with self.assertRaises(KeyboardInterrupt):
                rates.Rates(path).find(experiment, setting, arm, lab(stops_after=2), lab(), 1000)
            before = set(json.loads(path.read_text())[experiment.name][setting.name][arm]["tried"])
            self.assertEqual(len(before), 2)
            asked.clear()
            rates.Rates(path).find(experiment, setting, arm, lab(), lab(fails_at=rates.on_grid(setting.rate, 2)), 1000)
            self.assertFalse(before & set(map(str, asked[:-2])))
            found = rates.Rates(path).best(experiment, setting, arm)
            self.assertIn(found, (rates.on_grid(setting.rate, 1), rates.on_grid(setting.rate, 3)))
            self.assertEqual(rates.text_of(json.loads(path.read_text())), path.read_text(), "a line for each arm")
            changed = dataclasses.replace(setting, rate=7)
            self.assertIsNone(rates.Rates(path).best(experiment, changed, arm))


class PredictorsTest(unittest.TestCase):
    def trace(self, count=400):
        """w0's speed is 100 times the share that was read before; w1's is 50."""
        lines, share = [], 1.0
        for i in range(count):
            lines.append(f"@{i}.5 push w0 #{i} based-on=v{i} samples=10 loss=1 norm2=1 compute={0.1 / share!r} cpu={(share := 1.0 if i // 7 % 2 else 0.25)!r}")
            lines.append(f"@{i}.6 push w1 #{i} based-on=v{i} samples=10 loss=1 norm2=1 compute=0.2")
        return "\n".join(lines)

    def test_speeds_that_follow_a_reading_are_told_by_those_who_look_at_it(self):
        judged = predictors.judged(pathlib.Path(BUILD).resolve() / "bin/predict_speeds", self.trace(), 100)
        self.assertLess(judged["linear ARX"][0], 0.1 * judged["last value"][0])
        self.assertLess(judged["NARX"][0], 0.5 * judged["EMA"][0])
        self.assertGreater(judged["linear ARX"][1], 0.99)
        self.assertTrue(all(share <= 1 for _, share in judged.values()))

    def test_the_bound_is_samples_by_the_sum_of_speeds(self):
        self.assertAlmostEqual(predictors.bound_of(self.trace(7), 300), 300 / 150 + 6 * 300 / 75)


class PlotTest(unittest.TestCase):
    def test_a_bar_for_each_figure_and_a_word_for_what_was_not_reached(self):
        row = {"value": 0.5, "low": 0.4, "high": 0.6}
        failed = {"value": None, "low": 0.5, "high": None}
        svg = xml.etree.ElementTree.fromstring(plot.bars("<t>", [("h < 1", [("a & b", row, row), ("c", row, failed)])]))
        bars = [one for one in svg.iter("{http://www.w3.org/2000/svg}rect") if one.get("height") == str(plot.LINE - 1)]
        self.assertEqual(len(bars), 3)
        self.assertIn("not reached", [one.text for one in svg.iter("{http://www.w3.org/2000/svg}text")])


class PageTest(unittest.TestCase):
    def test_of_experiments_measured_anew_only_the_new_rows_stay(self):
        old = [{"experiment": "a", "value": 1}, {"experiment": "b", "value": 2}]
        self.assertEqual(page.merged(old, [{"experiment": "a", "value": 3}, {"experiment": "a", "value": 4}]),
                         [{"experiment": "a", "value": 3}, {"experiment": "a", "value": 4}, {"experiment": "b", "value": 2}])

    def test_a_larger_rate_may_have_been_no_part_of_a_gain_or_all_of_it(self):
        self.assertEqual([part_said(value) for value in (-2, 0, 0.347, 1, 17)], ["none, it grows", "0%", "35%", "all of it", "all of it"])

    def test_numbers_have_three_digits_that_count(self):
        self.assertEqual([page.number(value) for value in (None, 0, 0.12345, 12.345, 1234.5, 1234567, 0.00012)],
                         ["-", "0", "0.123", "12.3", "1,234", "1,234,567", "0.00012"])


if __name__ == "__main__":
    unittest.main()
