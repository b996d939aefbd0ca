"""The best learning rate of each arm, searched for on a grid of factors of the root of 2, and kept in a file as it is found."""
import concurrent.futures
import json
import pathlib
import statistics
import sys
import threading

from experiment import times_of
from lives import FAILED

FILE = pathlib.Path(__file__).resolve().parent / "rates.json"
SEARCHED = 1  # Seeds by which rates are looked for; one that is taken reaches the target with all.
FINEST = 2 ** 0.5
SLOWER = 1.6  # A rate is given up once it has taken so many times as long as the best so far: more than a neighbour on the grid should take.
FARTHEST = 16  # Steps of the grid either way.


def on_grid(start, place):
    return float(f"{start * FINEST ** place:.3g}")


def search(time_at, limit):
    """Places by their times: in steps of two while time falls, up and else down, and then the best one's neighbours.

    `time_at` is given a place and a time after which it need not know more; FAILED is slower than all.
    """
    found = {}

    def at(place):
        if place not in found:
            best = min(found.values(), default=FAILED)
            found[place] = time_at(place, limit if best == FAILED else SLOWER * best)
        return found[place]

    best = 0
    at(0)
    for direction in (2, -2):
        came_from = best
        while abs(best + direction) <= FARTHEST and at(best + direction) <= found[best] and (found[best] < FAILED or direction < 0):
            best += direction
        if best != came_from:
            break
    for neighbour in (best + 1, best - 1):
        at(neighbour)
    return sorted((place for place in found if found[place] < FAILED), key=lambda place: (found[place], abs(place)))


class Rates:
    """What the file says, and what is found anew: {experiment: {setting: {arm: {of, rate, tried}}}}."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()  # Of the file, and of what is in it.
        self.all = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def _entry(self, experiment, setting, arm):
        with self.lock:
            of_arm = self.all.setdefault(experiment.name, {}).setdefault(setting.name, {})
            if of_arm.get(arm, {}).get("of") != setting.digest(arm):
                of_arm[arm] = {"of": setting.digest(arm), "rate": None, "tried": {}}
            return of_arm[arm]

    def best(self, experiment, setting, arm):
        """Of that very scenario; None where it was not looked for yet."""
        return self._entry(experiment, setting, arm)["rate"]

    def missing(self, experiments):
        """Names of all arms whose best rate is not known."""
        return [f"{one.name}: {setting.name}: {arm}" for one in experiments for setting in one.settings for arm in setting.arms
                if self.best(one, setting, arm) is None]

    def at_start(self, experiment, setting, arm):
        """The seconds that it took at the rate where the search began; FAILED where it did not arrive."""
        seconds = self._entry(experiment, setting, arm)["tried"][str(on_grid(setting.rate, 0))]
        return FAILED if seconds is None else seconds

    def find(self, experiment, setting, arm, lab, all_seeds, patience):
        """Goes on where it was left, and writes the file after each rate that was tried. Of those that were fast in `lab` the fastest
        that reaches the target with all seeds; where none does, the fastest. An arm has failed after so many seconds of `patience`."""
        entry = self._entry(experiment, setting, arm)
        if entry["rate"] is not None:
            return

        def time_at(place, limit):
            rate = on_grid(setting.rate, place)
            if str(rate) not in entry["tried"]:
                median = statistics.median_low(times_of(lab.lives(setting, arm, rate, limit).result()))
                self._keep(entry["tried"], str(rate), None if median == FAILED else median)
            median = entry["tried"][str(rate)]
            return FAILED if median is None else median

        places = [on_grid(setting.rate, place) for place in search(time_at, patience)] or [setting.rate]
        arrives = (rate for rate in places if max(times_of(all_seeds.lives(setting, arm, rate, patience).result())) < FAILED)
        self._keep(entry, "rate", next(arrives, places[0]))

    def find_all(self, wanted, lab, all_seeds, jobs, whose=""):
        """Looks for the rates of all (experiment, setting, arm, patience) that are wanted, and tells how far it is."""
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            searches = [pool.submit(self.find, experiment, setting, arm, lab, all_seeds, patience) for experiment, setting, arm, patience in wanted]
            for number, search in enumerate(concurrent.futures.as_completed(searches), 1):
                search.result()
                print(f"\r{number} of {len(searches)} rates{whose}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)

    def _keep(self, where, name, value):
        with self.lock:
            where[name] = value
            self.path.write_text(text_of(self.all), encoding="utf-8")


def text_of(rates):
    """JSON, with a line for each arm."""
    def block(name, lines, indent):
        return f"{indent}{json.dumps(name)}: {{\n" + ",\n".join(lines) + f"\n{indent}}}"

    def of_setting(name, arms):
        return block(name, [f"   {json.dumps(arm)}: {json.dumps(entry)}" for arm, entry in arms.items()], "  ")

    return "{\n" + ",\n".join(block(name, [of_setting(*one) for one in settings.items()], " ") for name, settings in rates.items()) + "\n}\n"
