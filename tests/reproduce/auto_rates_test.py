#!/usr/bin/env python3
"""Of the clusters of tests/reproduce/auto.py: each arm's best rate is found, lived at and said as it should be.

    tests/reproduce/auto_rates_test.py BUILD
"""
import contextlib
import dataclasses
import functools
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import auto
import auto_page
import auto_rates
import auto_rates_page
import rates
from experiment import BEST, RATE
from lives import FAILED

BUILD = sys.argv.pop(1)


def cluster(*labels, arms=("bsp", "asp", "auto")):
    """The experiment of those scenarios, with few arms."""
    experiment = auto_rates.experiment_of(auto.chosen(only=labels))
    return dataclasses.replace(experiment, settings=[
        dataclasses.replace(setting, arms={arm: setting.arms[arm] for arm in arms}) for setting in experiment.settings])


def row(arm, seconds, ending="target"):
    return {"arm": arm, "seconds": seconds, "ending": ending}


class FindTest(unittest.TestCase):
    def find(self, experiment, known, seconds_at):
        """What was asked for of one seed, and of all: (setting, arm, rate, seconds of patience)."""
        def lives(asked, setting, arm, rate, seconds):
            asked.append((setting.name, arm, rate, seconds))
            return mock.Mock(result=lambda: [row(arm, seconds_at(arm, rate), "target" if seconds_at(arm, rate) < FAILED else "seconds")])

        asked, asked_of_all = [], []
        with contextlib.redirect_stderr(io.StringIO()):
            auto_rates.find(experiment, known, *(mock.Mock(lives=functools.partial(lives, of)) for of in (asked, asked_of_all)), 1)
        return asked, asked_of_all

    def test_an_arm_has_failed_after_three_times_bsps_time_at_the_scenarios_rate(self):
        with tempfile.TemporaryDirectory() as folder:
            known, experiment = rates.Rates(pathlib.Path(folder, "rates.json")), cluster("d11")
            setting = experiment.settings[0]
            self.assertNotEqual(str(setting.rate), str(rates.on_grid(setting.rate, 0)), "a rate of more digits than are kept")
            asked, of_all = self.find(experiment, known, lambda arm, rate: 100 * rate / setting.rate if arm == "bsp" else FAILED if arm == "auto" and rate > 0.5 * setting.rate else 40)
            start = rates.on_grid(setting.rate, 0)
            arms = [arm for _, arm, _, _ in asked]
            self.assertEqual(arms, sorted(arms, key=["bsp", "asp", "auto"].index))
            self.assertEqual(asked[0], (setting.name, "bsp", start, auto_rates.BSP_SECONDS))
            bsp = 100 * start / setting.rate
            self.assertEqual(next(one for one in asked if one[1] == "asp"), (setting.name, "asp", start, auto.PATIENCE * bsp))
            self.assertLess(known.best(experiment, setting, "bsp"), 0.1 * setting.rate)
            self.assertEqual(known.best(experiment, setting, "asp"), start)
            self.assertLess(known.best(experiment, setting, "auto"), 0.51 * setting.rate)
            self.assertEqual(known.missing([experiment]), [])
            self.assertEqual([(arm, rate) for _, arm, rate, _ in of_all], [(arm, known.best(experiment, setting, arm)) for arm in setting.arms])
            self.assertEqual(self.find(experiment, known, None), ([], []), "what is known is not looked for")

    def test_of_checked_in_rates_that_of_each_arm_of_each_cluster_is_known(self):
        experiment = auto_rates.experiment_of(auto.chosen())
        self.assertEqual(len(experiment.settings), 58)
        self.assertEqual(rates.Rates(rates.FILE).missing([experiment]), [])


class LivesTest(unittest.TestCase):
    def test_arms_live_each_at_its_own_rate_and_are_beside_bsp_at_its_own(self):
        (setting,) = cluster("2", arms=("bsp", "asp", "wbsp", "auto")).settings
        ran = []

        def lived(spec, syncs):
            ran.append((spec["training"]["learningRate"], spec["stop"].get("seconds"), list(syncs)))
            seconds = {"bsp": (10, 20, 40), "asp": (5, 5, 10), "wbsp": (30, FAILED, FAILED), "auto": (2, 2, 2)}
            return [row(arm, time, "target" if time < FAILED else "seconds") for arm in syncs for time in seconds[arm]]

        best = {"bsp": 0.7, "asp": 1.4, "wbsp": 1.4, "auto": 1.0}
        measured, bsp = auto_rates.measure(mock.Mock(run=lived), setting, best.get)
        self.assertEqual(ran, [(0.7, auto_rates.BSP_SECONDS, ["bsp"]), (1.4, 120, ["asp", "wbsp"]), (1.0, 120, ["auto"])])
        self.assertEqual((measured, bsp), ({"asp": (0.25, 0.25, 0.5), "wbsp": (FAILED, 3, FAILED), "auto": (0.1, 0.05, 0.2)}, [10, 20, 40]))
        self.assertEqual(auto_rates.measure(mock.Mock(run=lambda *_: [row("bsp", 1), row("bsp", 2, "seconds")]), setting, best.get), (None, [1, FAILED]))

    def test_the_command_lives_at_the_rates_that_are_known_and_writes_rows_of_both(self):
        short = cluster("9", arms=("bsp", "asp", "auto", "star", "b1", "b1I", "ka2", "wbsp", "ps+", "ssp1", "ssp3", "ssp8", "lb"))
        spec = {**short.settings[0].spec, "stop": {"loss": 0.9}}
        short = dataclasses.replace(short, settings=[dataclasses.replace(short.settings[0], spec=spec)])
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, JSON=f"{folder}/rows.json"), \
                mock.patch.object(auto_rates, "FILE", pathlib.Path(folder, "rates.json")), mock.patch.object(auto_rates, "experiment_of", lambda _: short), \
                mock.patch.object(sys, "argv", ["auto_rates.py", BUILD, "--seeds", "1"]), contextlib.redirect_stdout(io.StringIO()) as out:
            with self.assertRaisesRegex(SystemExit, "auto: 9 one 4x, high noise, Q n4: bsp\n"):
                auto_rates.main()
            setting = short.settings[0]
            known = {arm: {"of": setting.digest(arm), "rate": 0.5, "tried": {}} for arm in setting.arms}
            pathlib.Path(folder, "rates.json").write_text(json.dumps({"auto": {setting.name: known}}), encoding="utf-8")
            auto_rates.main()
            rows = json.loads(pathlib.Path(folder, "rows.json").read_text(encoding="utf-8"))
        self.assertIn("| 9 | one 4x, high noise, Q n4 | b1 ", out.getvalue())
        self.assertEqual({one["setting"] for one in rows}, {f"{setting.name}, {BEST}"})
        self.assertEqual({one["arm"]: one["value"] for one in rows if one["unit"] == RATE}, dict.fromkeys(setting.arms, 0.5))
        self.assertEqual({one["arm"] for one in rows if one["unit"] == auto.BESIDE}, set(setting.arms) - {"bsp"})


class PageTest(unittest.TestCase):
    def rows(self, setting, seconds, best_rates, **times):
        """`times` of an arm: at the scenario's rate and at its best."""
        rows = []
        for i, where in enumerate((setting, f"{setting}, {BEST}")):
            rows.append(auto.row_of(auto.SINGLES, "bsp", where, "virtual seconds", 3, (seconds[i],) * 3))
            rows += [auto.row_of(auto.SINGLES, arm, where, auto.BESIDE, 3, (of[i],) * 3) for arm, of in times.items()]
        return rows + [auto.row_of(auto.SINGLES, arm, where, RATE, 3, (rate,) * 3) for arm, rate in best_rates.items()]

    def both(self):
        everyone = {arm: (0.9, 0.9) for arm in ("b4", "b4I", "dbw", "dbwI", "ssp1", "ssp3", "ssp8", "wbsp", "ps+", "lb")}
        ones = dict.fromkeys(everyone, 1)
        return (self.rows("0 one, D n8", (100, 80), {"bsp": 1, "asp": 4, "ka2": 1, "ka4": 2, "auto": 1, "star": 1, **ones},
                          asp=(0.5, 0.25), ka2=(0.6, 0.6), ka4=(0.8, 0.3), auto=(0.25, 0.5), star=(1, 1), **everyone) +
                self.rows("e0 other, Q n4", (10, 10), {"bsp": 2, "asp": 2, "ka2": 2, "auto": 2, "star": 2, **ones},
                          asp=(0.5, 1), ka2=(FAILED, 0.5), auto=(0.25, 0.125), star=(1.2, 1), **everyone))

    def test_what_a_larger_rate_is_worth_to_each_arm(self):
        lines = list(auto_rates_page.by_kind(self.both()))
        found = {line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]] for line in lines[2:]}
        self.assertEqual(found["ASP"], [".50", "2 of 2", ".50", "2 of 2", "2.00", "0%"])
        self.assertEqual(found["Auto"], [".25", "2 of 2", ".25", "2 of 2", "1.00", "0%"])
        self.assertEqual(found["k-batch"], [".60", "1 of 2", ".30", "2 of 2", "2.00", "none, it grows"])
        self.assertEqual(found["STAR's heuristic"][-1], "", "who gains nothing gains nothing by its rate")
        self.assertEqual(found["the best single one, no interrupts"], [".50", "2 of 2", ".35", "2 of 2", "2.00", "none, it grows"])
        self.assertEqual(found["bk"][0], ".90")
        self.assertEqual(auto_rates_page.fastest({"asp": (1.2, 1, 2)}, auto_rates_page.LINES["the best single one"]), ("bsp", 1.0))

    def test_the_rates_of_the_fastest_are_beside_bsps(self):
        lines = list(auto_rates_page.SECTIONS["best-rates"](self.both()))
        self.assertEqual(lines[2:], ["| 0 | one, D n8 | 1 | .80 | asp | 4 | 1 | 1 |", "| e0 | other, Q n4 | 2 | 1.00 | ka2 | 2 | 2 | 2 |"])

    def test_tables_of_one_rate_do_not_see_rows_of_the_best(self):
        rows = self.both()
        self.assertEqual(auto_page.times_of(rows)["0 one, D n8"]["asp"], (0.5,) * 3)
        self.assertEqual(auto_page.times_of(rows, BEST)["0 one, D n8"]["asp"], (0.25,) * 3)
        self.assertEqual(auto.singles_of(rows)["0"]["asp"], (0.5,) * 3)
        self.assertIn(" .50 (.50, .50) | ASP .25 | 0.50 |", list(auto_rates_page.SECTIONS["best-auto"](rows))[2])
        self.assertIn("| asp .25 |", list(auto_rates_page.SECTIONS["best-singles"](rows))[2])


if __name__ == "__main__":
    unittest.main()
