"""What an experiment is, and the lives of its arms, each at the rate of all and at the best of its own.

An experiment has settings: a cluster, something to learn, when a life ends, and arms. The first arm is what the others are
measured beside, seed by seed. Rows are dicts of ROW's fields; `setting` names the setting and which rate.
"""
import concurrent.futures
import dataclasses
import hashlib
import json
import math
import pathlib
import statistics
import tempfile

import auto_scenarios
import lives
from lives import FAILED

ROW = ("experiment", "arm", "setting", "value", "published", "unit", "seeds", "low", "high")
SAME, BEST = "same rate", "best rate"
BESIDE, SECONDS, RATE = "of {}'s time", "virtual seconds", "learning rate"
STEPS, STEP_SECONDS, COMPUTING = "steps of all workers", "seconds a step of all workers", "of all workers' time computing"
RATES_PART = "of the gain at the same rate is a larger rate's"


@dataclasses.dataclass(frozen=True)
class Setting:
    name: str
    spec: dict      # As a scenario's, without seeds, arms and the learning rate; stop.seconds is when an arm has failed.
    rate: float     # Of all arms; where a search begins.
    arms: dict      # Name: spec.sync.

    @property
    def baseline(self):
        return next(iter(self.arms))

    @property
    def size(self):
        return sum(kind.get("count", 1) for kind in self.spec["cluster"]["workers"])

    def digest(self, arm):
        """Of all that decides an arm's lives but the rate and seeds, wherever the tree lies."""
        text = json.dumps([self.spec, self.arms[arm], self.rate], sort_keys=True).replace(str(auto_scenarios.ROOT), "")
        return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclasses.dataclass(frozen=True)
class Experiment:
    name: str
    settings: list
    published: dict = dataclasses.field(default_factory=dict)  # (setting, arm, unit): figure.
    # Given the Measured of this experiment: rows of its own, made by Measured.row.
    more: object = lambda measured: []


class Lab:
    """Runs lives, each only once, so many processes at a time."""

    def __init__(self, build, seeds, jobs=1):
        self.simulator = lives.Simulator(build, seeds)
        self.seeds = seeds
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs)
        self.known = {}

    def lives(self, setting, arm, rate, seconds=math.inf):
        """A future of the rows of an arm's lives, which end after so much virtual time at the latest."""
        seconds = min(seconds, setting.spec["stop"].get("seconds", math.inf))
        key = (setting.digest(arm), rate, seconds)
        if key not in self.known:
            self.known[key] = self.pool.submit(self._run, setting, arm, rate, seconds)
        return self.known[key]

    def _run(self, setting, arm, rate, seconds):
        spec = spec_of(setting, rate)
        if seconds < math.inf:
            spec["stop"]["seconds"] = seconds
        return self.simulator.run(spec, {arm: setting.arms[arm]})

    def traces(self, setting, arm, rate, steps):
        """A future of the policy trace and the virtual seconds of an arm's first steps, by seed."""
        return self.pool.submit(self._trace, setting, arm, rate, steps)

    def _trace(self, setting, arm, rate, steps):
        spec = spec_of(setting, rate) | {"stop": {"steps": steps}}
        with tempfile.TemporaryDirectory() as folder:
            rows = self.simulator.run(spec, {arm: setting.arms[arm]}, folder)
            return [(pathlib.Path(folder, f"{arm}-{row['seed']}.trace").read_text(encoding="utf-8"), row["seconds"]) for row in rows]

    def program(self, name):
        return self.simulator.program.parent / name


def spec_of(setting, rate):
    return {**setting.spec, "training": {**setting.spec["training"], "learningRate": rate}, "stop": dict(setting.spec["stop"])}


def times_of(rows):
    """By seed, virtual time to the target; FAILED where it was not reached."""
    return next(iter(lives.seconds_of(rows).values()))


class Measured:
    """The lives of an experiment, and what is said of them."""

    def __init__(self, experiment, lab, best_rates):
        """`best_rates` is asked for (setting, arm)."""
        self.experiment, self.lab = experiment, lab
        self.rates = {(setting.name, arm, mode): setting.rate if mode == SAME else best_rates(setting, arm)
                      for setting in experiment.settings for arm in setting.arms for mode in (SAME, BEST)}
        self.settings = {setting.name: setting for setting in experiment.settings}
        futures = {(name, arm, mode): lab.lives(self.settings[name], arm, rate) for (name, arm, mode), rate in self.rates.items()}
        self.rows = {key: future.result() for key, future in futures.items()}

    def times(self, setting, arm, mode):
        return times_of(self.rows[setting, arm, mode])

    def row(self, arm, setting, unit, values, published=None):
        """Median, least and most of values by seed; one that is infinite has failed and is null."""
        if published is None:
            published = self.experiment.published.get((setting, arm, unit))
        finite = [None if value == FAILED else value for value in (statistics.median_low(values), min(values), max(values))]
        return dict(zip(ROW, (self.experiment.name, arm, setting, finite[0], published, unit, self.lab.seeds, *finite[1:])))

    def beside(self, setting, arm, other, mode, published=None, unit=None):
        """A row of an arm's times beside another's of the same seeds."""
        ratios = [ratio_of(*pair) for pair in zip(self.times(setting, arm, mode), self.times(setting, other, mode))]
        return self.row(arm, f"{setting}, {mode}", unit or BESIDE.format(other), ratios, published)

    def value(self, setting, arm, mode, unit):
        """The median that a row of an arm has."""
        return next(row["value"] for row in self._rows_of(self.settings[setting], arm, mode) if row["unit"] == unit)

    def fastest(self, setting, arms, mode):
        return min(arms, key=lambda arm: statistics.median_low(self.times(setting, arm, mode)))

    def all_rows(self):
        rows = []
        for setting in self.experiment.settings:
            for mode in (SAME, BEST):
                for arm in setting.arms:
                    rows += self._rows_of(setting, arm, mode)
            rows += [row for arm in setting.arms if arm != setting.baseline for row in self._rates_part(setting, arm)]
        return rows + list(self.experiment.more(self))

    def _rows_of(self, setting, arm, mode):
        where, found = f"{setting.name}, {mode}", self.rows[setting.name, arm, mode]
        pushes = [row["steps"] * row["pushes_a_step"] / setting.size for row in found]
        return [
            self.beside(setting.name, arm, setting.baseline, mode),
            self.row(arm, where, RATE, [self.rates[setting.name, arm, mode]]),
            self.row(arm, where, SECONDS, self.times(setting.name, arm, mode)),
            self.row(arm, where, STEPS, [count if row["ending"] == "target" else FAILED for row, count in zip(found, pushes)]),
            self.row(arm, where, STEP_SECONDS, [ratio_of(row["seconds"], count) for row, count in zip(found, pushes)]),
            self.row(arm, where, COMPUTING, [row["computing"] for row in found]),
        ]

    def _rates_part(self, setting, arm):
        same, best = (statistics.median_low([ratio_of(*pair) for pair in zip(self.times(setting.name, arm, mode),
                                                                             self.times(setting.name, setting.baseline, mode))])
                      for mode in (SAME, BEST))
        if not 0 < same < 1 or best in (0, FAILED):
            return []
        return [self.row(arm, setting.name, RATES_PART, [rates_part(same, best)])]


def rates_part(same, best):
    """How much of a gain at the rate of all goes once the baseline has its best rate, too, on the scale of logs: of two ratios of time."""
    return 1 - math.log(best) / math.log(same)


def part_said(part):
    return "none, it grows" if part < 0 else "all of it" if part >= 1 else f"{part:.0%}"


def ratio_of(mine, theirs):
    return FAILED if mine == FAILED or theirs in (0, FAILED) else mine / theirs
