"""WBSP (Yang et al., Parallel Computing 121, 2024): CIFAR-10, eight workers, the odd ones slower by 0.5, 1 or 1.5 s a step.

The batch of a worker is 128 samples there; its step takes 0.3 s here, so that BSP computes for 55 % to 72 % of the time, as it is
published that it did. The published CNN's 150,000 parameters travel over a link of 1 Gbit/s.
"""
import statistics

import problems
from experiment import BEST, COMPUTING, SAME, Experiment, Setting

WORKERS = 8
STEP, SLEEPS = 0.3, {"H1": 0.5, "H2": 1.0, "H3": 1.5}
ARMS = {
    "bsp": {"scheme": "BSP"},
    "ssp40": {"scheme": "SSP", "ssp": {"staleness": 40}},
    "asp": {"scheme": "ASP"},
    "wbsp": {"scheme": "WBSP"},
    "wbsp-basic": {"scheme": "WBSP", "wbsp": {"overlap": False}},
}
OURS, OTHERS = ("wbsp", "wbsp-basic"), ("bsp", "ssp40", "asp")
TARGET, RATE = 0.05, 0.1
PATIENCE = 7000  # Steps of BSP, which needs some 2,300 at RATE.


def setting(name, sleep):
    compute = {"perSampleSeconds": STEP / problems.SAMPLES, "jitter": {"kind": "Lognormal", "mean": 1, "sigma": 0.05}}
    return Setting(name, {
        "training": {"globalBatchSize": WORKERS * problems.SAMPLES},
        "objective": problems.digits(WORKERS),
        "stop": {"loss": TARGET, "seconds": PATIENCE * (STEP + sleep)},
        "cluster": {
            "compute": compute,
            "workers": [{"count": WORKERS // 2}, {"count": WORKERS // 2, "compute": {"fixedSeconds": sleep}}],
            "network": {"latencySeconds": 0.001, "serverBytesPerSecond": 125e6, "bytes": 0.6e6}},
    }, RATE, ARMS)


def more(measured):
    """WBSP's time beside the fastest other scheme's, and the most that it gains in a setting."""
    for mode in (SAME, BEST):
        rows = []
        for name in SLEEPS:
            ours, other = measured.fastest(name, OURS, mode), measured.fastest(name, OTHERS, mode)
            rows.append(measured.beside(name, ours, other, mode, unit=f"of the time of the fastest other, {other}"))
        yield from rows
        reached = [row["value"] for row in rows if row["value"] is not None]
        if reached:
            yield measured.row("WBSP", f"the best of H1 to H3, {mode}", "of the fastest other's time", [min(reached)], 0.4)
            computing = [statistics.median(row["computing"] for row in measured.rows[name, "wbsp", mode]) for name in SLEEPS]
            yield measured.row("wbsp", f"the least of H1 to H3, {mode}", COMPUTING, [min(computing)], 0.91)


EXPERIMENT = Experiment("wbsp", [setting(*one) for one in SLEEPS.items()], more=more)
