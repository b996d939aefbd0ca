#!/usr/bin/env python3
"""The delay tables of beside_ddp.py are what they say, and what it makes of runs is right. Starts nothing."""
import contextlib
import io
import math
import statistics
import unittest

import beside_ddp
import delay_tables


def columns(kind, seed, rows=20_000):
    return list(zip(*delay_tables.table(kind, seed, 4, rows)))


class DelayTablesTest(unittest.TestCase):
    def test_a_seed_gives_the_same_table_each_time_and_another_one_another(self):
        for kind in delay_tables.KINDS:
            with self.subTest(kind):
                first, again, other = (delay_tables.table(kind, seed, 4, 50) for seed in (1, 1, 2))
                self.assertEqual(first, again)
                self.assertNotEqual(first, other)

    def test_more_rows_go_on_where_fewer_end_and_workers_draw_apart(self):
        for kind in delay_tables.KINDS:
            with self.subTest(kind):
                self.assertEqual(delay_tables.table(kind, 1, 4, 100)[:50], delay_tables.table(kind, 1, 4, 50))
                self.assertEqual(len(set(columns(kind, 1, 50))), 4)

    def test_delays_have_the_means_that_the_page_names(self):
        for kind, wanted in {"jitter": [0.15] * 4, "half-jitter": [0.15] * 4, "mixed": [0.08] * 3 + [0.32], "phases": [0.16] * 4}.items():
            with self.subTest(kind):
                for column, mean in zip(columns(kind, 1), wanted):
                    self.assertAlmostEqual(statistics.mean(column), mean, delta=0.1 * mean)

    def test_half_of_half_jitter_is_sure_and_pareto_has_a_least_and_a_tail(self):
        self.assertGreaterEqual(min(map(min, columns("half-jitter", 1))), 0.075)
        cells = sorted(cell for column in columns("Pareto", 1) for cell in column)
        self.assertAlmostEqual(cells[0], 0.05625, delta=0.0001)
        self.assertAlmostEqual(cells[len(cells) // 2], 0.05625 * 2 ** (1 / 1.6), delta=0.002)

    def test_slow_phases_last_for_ten_steps_in_the_mean_and_are_a_quarter_of_all(self):
        is_slow = [seconds > 0.2 for seconds in columns("phases", 1)[0]]
        ends = sum(before and not after for before, after in zip(is_slow, is_slow[1:]))
        self.assertAlmostEqual(sum(is_slow) / len(is_slow), 0.25, delta=0.05)
        self.assertAlmostEqual(sum(is_slow) / ends, 10, delta=2)

    def test_a_table_is_read_back_as_it_was_written(self):
        table = delay_tables.table("mixed", 1, 4, 20)
        for row, read in zip(table, delay_tables.from_csv(delay_tables.as_csv(table)), strict=True):
            self.assertEqual([round(cell, 6) for cell in row], read)


TRACE = """policy BSP batch=128 workers=2
@10.0 join w0
@10.5 join w1
  release w0 at v0 exact samples=64
  release w1 at v0 exact samples=64
@11.0 push w0 #1 based-on=v0 samples=64
@11.5 committed v1 rate=1 norm2=1
@13.5 committed v2 rate=1 norm2=1
@14.5 committed v3 rate=1 norm2=1
"""


class RunsTest(unittest.TestCase):
    def test_seconds_count_from_the_first_release_to_the_version_that_reached_the_target(self):
        run = beside_ddp.read_trace(TRACE, 2, True)
        self.assertEqual((run.seconds, run.steps, run.step_seconds), (3.0, 2, 1.5))

    def test_a_run_that_missed_the_target_takes_for_ever(self):
        self.assertEqual(beside_ddp.read_trace(TRACE, 3, False).seconds, math.inf)

    def test_rows_have_seconds_and_the_speed_beside_ddp_seed_by_seed(self):
        seconds = {("ddp", 1): 30.0, ("ddp", 2): 40.0, ("ddp", 3): 60.0, ("auto", 1): 10.0, ("auto", 2): 20.0, ("auto", 3): math.inf}
        runs = {(arm, "mixed, rate 1", seed): beside_ddp.Run(value, 100, 0.1) for (arm, seed), value in seconds.items()}
        rows = {(row["arm"], row["unit"]): row for row in beside_ddp.rows_of(runs)}
        self.assertEqual(rows["auto", "times DDP's speed"],
                         {"experiment": "R7", "arm": "auto", "setting": "mixed, rate 1", "value": 2.0, "published": 3.0,
                          "unit": "times DDP's speed", "seeds": 3, "low": 0.0, "high": 3.0})
        self.assertEqual([rows["auto", "s to the target"][name] for name in ("value", "low", "high")], [20.0, 10.0, None])
        self.assertEqual([rows["ddp", "times DDP's speed"][name] for name in ("value", "low", "high", "published")], [1.0, 1.0, 1.0, None])

    def test_a_run_that_fails_is_named_and_the_others_count(self):
        def one(case):
            if case.seed == 2:
                raise RuntimeError("gloo")
            return beside_ddp.Run(10.0 * case.seed, 100, 0.1)
        with contextlib.redirect_stderr(io.StringIO()):
            runs, problems = beside_ddp.run_all([beside_ddp.Case("ddp", "mixed", seed, 1.0) for seed in (1, 2, 3)], 2, one)
        self.assertEqual(problems, ["mixed, rate 1, ddp, seed 2: gloo"])
        self.assertEqual({seed: run.seconds for (_, _, seed), run in runs.items()}, {1: 10.0, 3: 30.0})

    def test_both_sides_are_told_the_same(self):
        case = beside_ddp.Case("auto", "mixed", 7, 0.5, 0.9)
        spec, task = case.manifest()["spec"], case.task()
        self.assertEqual((spec["training"]["learningRate"]["base"], spec["training"]["optimizer"]["sgd"]["momentum"]), (task["rate"], task["momentum"]))
        self.assertEqual((spec["training"]["globalBatchSize"], spec["workers"]["replicas"], spec["training"]["seed"]),
                         (task["batch"], task["workers"], task["seed"]))
        self.assertEqual((spec["training"]["stop"]["target"]["value"], spec["evaluator"]["periodSeconds"]),
                         (task["target"], f"{1000 * task['period']:.0f}ms"))


if __name__ == "__main__":
    unittest.main()
