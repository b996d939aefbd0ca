#!/usr/bin/env python3
"""`scheme: Auto` beside BSP where learning rates are about as large as BSP bears, or batches as small as two samples a worker.

    tests/reproduce/auto_edge.py build/release [--seeds 12] [--only networks,tiny] [--jobs 1]

The tiny batches decided how long steps of few are (docs/adr/0070). A life has failed that has not arrived within three times the
time of BSP's slowest seed; of BSP, one that has not within 800 steps. It ends with 1 where Auto failed on a scenario in which BSP never did.
docs/reproduction.md says what came out.
"""
import argparse
import concurrent.futures
import dataclasses
import statistics
import sys

import auto_scenarios as made
import lives
from auto import AUTO, PATIENCE
from lives import FAILED, seconds_of

STEPS = 800  # Of BSP, at most.


def networks():
    """The digits' network, and quadratics, close to the edge: 54 scenarios."""
    found = []

    def add(problem, workers, compute=None, **more):
        found.append(made.Scenario(f"{problem} {more} {workers} {compute or ''}", problem, workers, compute or {}, **more))

    for rate in (1.3, 1.4):
        for size in (4, 8, 16):
            add("D", made.equal(size), made.exponential(1), rate=rate)
            add("D", made.equal(size), made.pareto(1.5), rate=rate)
            add("D", made.slow(1, 4, size), rate=rate)
            add("D", made.slow(size // 2, 3, size), made.exponential(0.3), rate=rate)
    for rate in (0.8, 1.0):
        add("D", made.equal(8), made.exponential(1), rate=rate, batch=32)
        add("D", made.slow(1, 4, 8), rate=rate, batch=32)
        add("D", made.equal(4), made.exponential(1), rate=rate, batch=16)
    for rate in (0.2, 0.3):
        add("D", made.equal(8), made.exponential(1), rate=rate, momentum=0.9)
        add("D", made.slow(1, 3, 8), rate=rate, momentum=0.9)
        add("D", made.equal(4), made.pareto(1.6), rate=rate, momentum=0.9)
    for rate in (1.3, 1.6, 1.8):
        for noise in (made.LOW, made.MIDDLE, made.HIGH):
            add("Q", made.equal(16), made.exponential(1), rate=rate, noise=noise)
            add("Q", made.slow(4, 3, 8), rate=rate, noise=noise)
    return [(scenario.name, scenario.spec()) for scenario in found]


def tiny():
    """Quadratics whose noise is of the gradient's size, with two to sixteen samples a worker: 144 scenarios."""
    found = []
    for name, compute in (("exponential", made.exponential(1)), ("SE.4", made.exponential(0.4)), ("Pareto 1.5", made.pareto(1.5))):
        for size, batch in ((4, 8), (4, 16), (8, 16), (8, 32), (16, 32), (8, 128)):
            for rate in (0.8, 1.2, 1.5, 1.7):
                for noise, target in ((0.001, 0.02), (0.05, 0.03)):
                    cluster = {"compute": {"fixedSeconds": 0, "perSampleSeconds": size / batch, **compute}, "workers": made.equal(size)}
                    found.append((f"tiny {name}, n{size}, B={batch}, rate {rate}, noise {noise}", {
                        "training": {"globalBatchSize": batch, "learningRate": rate}, "objective": {"dimensions": 64, "noise": noise},
                        "stop": {"loss": target}, "cluster": cluster}))
    return found


@dataclasses.dataclass
class Outcome:
    ratios: list     # Auto's time beside BSP's, where BSP arrived.
    bsp_failed: int
    failed: int      # Auto's lives, of all...
    failed_alone: int  # ...and of those in which BSP arrived.


def measure(simulator, spec):
    """None where BSP arrives with no seed."""
    spec["stop"]["steps"] = STEPS
    bsp = seconds_of(simulator.run(spec, {"bsp": {"scheme": "BSP"}}))["bsp"]
    arrived = [seconds for seconds in bsp if seconds != FAILED]
    if not arrived:
        return None
    del spec["stop"]["steps"]
    spec["stop"]["seconds"] = PATIENCE * max(arrived)
    mine = seconds_of(simulator.run(spec, {"auto": AUTO}))["auto"]
    return Outcome([auto / of_bsp for auto, of_bsp in zip(mine, bsp) if of_bsp != FAILED], bsp.count(FAILED), mine.count(FAILED),
                   sum(auto == FAILED and of_bsp != FAILED for auto, of_bsp in zip(mine, bsp)))


def summary(name, outcomes):
    ratios = [ratio for outcome in outcomes for ratio in outcome.ratios]
    total = {field: sum(getattr(outcome, field) for outcome in outcomes) for field in ("bsp_failed", "failed", "failed_alone")}
    return (f"{name}: {len(ratios) + total['bsp_failed']} lives; did not arrive: BSP {total['bsp_failed']}, Auto {total['failed']}, Auto alone {total['failed_alone']}; "
            f"Auto, of BSP's time: {statistics.median(ratios):.2f} in the median, {max(ratios):.2f} at most, above 1.03 in {sum(ratio > 1.03 for ratio in ratios)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--only", type=lambda text: text.split(","), default=["networks", "tiny"])
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    simulator = lives.Simulator(options.build, options.seeds)
    has_failed = False
    for name, scenarios in {"networks": networks, "tiny": tiny}.items():
        if name not in options.only:
            continue
        outcomes = []
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for (label, _), outcome in zip(scenarios(), pool.map(lambda pair: measure(simulator, pair[1]), scenarios())):
                if outcome is None:
                    print(f"{label}: BSP never arrives")
                    continue
                outcomes.append(outcome)
                if outcome.failed_alone or max(outcome.ratios) > 1.03:
                    print(f"{label}: did not arrive: BSP {outcome.bsp_failed}, Auto alone {outcome.failed_alone}; Auto at most {max(outcome.ratios):.2f}", flush=True)
        borne = [outcome for outcome in outcomes if outcome.bsp_failed == 0]
        has_failed |= any(outcome.failed for outcome in borne)
        print(summary(name, outcomes), summary(f"{name}, where BSP arrives with every seed", borne), sep="\n", flush=True)
    sys.exit(has_failed)


if __name__ == "__main__":
    main()
