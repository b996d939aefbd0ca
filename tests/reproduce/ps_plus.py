"""PS+ (Jin et al., IEEE TPDS 2022): eight workers, momentum 0.9, homogeneous and with a capacity ratio h.

A worker's step takes a second, and pulling and pushing as long as computing does but for a tenth: the published demo trains ResNet-50, and how
fast its links were we do not know. With a ratio h every second worker has h of the capacity, as the demo makes it sleep for it.
"""
import problems
from experiment import BEST, SAME, STEP_SECONDS, STEPS, Experiment, Setting
from lives import FAILED

WORKERS = 8
TRANSFER = 0.45  # Seconds of a pull, and of a push.
ARMS = {
    "bsp": {"scheme": "BSP"},
    "ssp3": {"scheme": "SSP", "ssp": {"staleness": 3}},
    "asp": {"scheme": "ASP"},
    "ps+": {"scheme": "PSPlus", "psPlus": {"depth": 1}},
}
OURS, OTHERS = "ps+", ("bsp", "ssp3", "asp")
TARGET, RATE = 0.05, 0.02
SETTINGS = {"homogeneous": 1, "h = 0.5": 0.5, "h = 0.25": 0.25}


def setting(name, ratio):
    half = WORKERS // 2
    return Setting(name, {
        "training": {"globalBatchSize": WORKERS * problems.SAMPLES, "momentum": 0.9},
        "objective": problems.digits(WORKERS),
        "stop": {"loss": TARGET, "seconds": 4_000 * (1 / ratio + 2 * TRANSFER)},
        "cluster": {
            "compute": {"perSampleSeconds": 1 / problems.SAMPLES, "jitter": {"kind": "Lognormal", "mean": 1, "sigma": 0.1}},
            "workers": [{"count": half}, {"count": half, "speed": ratio}],
            "network": {"workerBytesPerSecond": 1 / TRANSFER, "bytes": 1}},
    }, RATE, ARMS)


def more(measured):
    """The most that PS+ gains beside each other scheme: in time, and at the same rate in seconds a step and in steps."""
    for mode in (SAME, BEST):
        for other in OTHERS:
            rows = [measured.beside(name, OURS, other, mode) for name in SETTINGS]
            reached = [1 / row["value"] for row in rows if row["value"]]
            if reached:
                yield measured.row("PS+", f"the best setting, {mode}", f"times as fast as {other}", [max(reached)], 2.86)
        for unit, published in ((STEP_SECONDS, 0.46), (STEPS, 0.63)):
            yield measured.row("PS+", f"the best setting and other scheme, {mode}", f"{unit}, beside the other's",
                               [min(least_beside(measured, name, unit, mode) for name in SETTINGS)], published)


def least_beside(measured, setting, unit, mode):
    """Of the arms that reached the target."""
    value = {arm: measured.value(setting, arm, mode, unit) for arm in (OURS, *OTHERS) if measured.value(setting, arm, mode, STEPS) is not None}
    return min((value[OURS] / value[other] for other in OTHERS if OURS in value and other in value), default=FAILED)


EXPERIMENT = Experiment("ps-plus", [setting(*one) for one in SETTINGS.items()], more=more)
