"""DBW (Xu, Neglia, Sebastianelli, 2020): sixteen workers whose steps take (1 - alpha) + alpha Exp(1) seconds, as in the paper's
experiments, and conditions that change. What is learnt is a formula: the quadratic, whose noise decides how many pushes a step needs.
"""

import auto_scenarios
import problems
from experiment import BEST, SAME, Experiment, Setting, ratio_of

WORKERS, BATCH = 16, 128
COUNTS = range(1, WORKERS)  # Every static k; all of them is BSP.
RATE, TARGET, DIMENSIONS = 0.1, 0.02, 100
REST = 0.5       # What SGD of all pushes comes to rest at, beside the target.
PATIENCE = 5000  # Seconds, until an arm has failed: BSP needs some 900 steps...
LONG = 9000      # ...which here take 6 s each.
INTERRUPT = {"lateWorker": "Interrupt"}


def backup(k, **more):
    return {"scheme": "BackupWorkers", "backupWorkers": {"count": WORKERS - k}, **more}


def dbw(method, **more):
    return {"scheme": "DBW", "dbw": {"method": method}, **more}


FIXED = {"bsp": {"scheme": "BSP"}} | {f"b{k}": backup(k) for k in COUNTS}
FIXED_INTERRUPTED = {f"b{k}I": backup(k, **INTERRUPT) for k in COUNTS}
ARMS = FIXED | FIXED_INTERRUPTED | {
    "gain": dbw("Gain"),
    "noise": dbw("NoiseScale"), "noiseI": dbw("NoiseScale", **INTERRUPT),
    "blind": dbw("Blind"),
    "adasync": {"scheme": "DBW", "dbw": {"method": "AdaSync", "adaSyncWorkers": 2}},
}
OURS = {"gain": FIXED, "noise": FIXED, "blind": FIXED, "adasync": FIXED, "noiseI": FIXED_INTERRUPTED}

PUBLISHED = ("gain", "noise")  # Who is held beside the published figure.


def noise():
    """Of SGD at RATE that comes to rest at REST x TARGET, by F = s2 S / b / (1 - 2 S / b), S = 1/2 sum rate l / (2 - rate l)."""
    spread = sum(RATE / i / (2 - RATE / i) for i in range(1, DIMENSIONS + 1)) / 2
    return REST * TARGET * BATCH / spread * (1 - 2 * spread / BATCH)


def setting(name, compute=None, workers=None, arms=tuple(ARMS), patience=PATIENCE):
    return Setting(name, {
        "training": {"globalBatchSize": BATCH},
        "objective": problems.quadratic(noise(), DIMENSIONS),
        "stop": {"loss": TARGET, "seconds": patience},
        "cluster": {
            "compute": {"perSampleSeconds": WORKERS / BATCH, **(compute or {})},
            "workers": workers or auto_scenarios.equal(WORKERS),
            "network": {"latencySeconds": 0.005}},
    }, RATE, {arm: ARMS[arm] for arm in arms})


HALF = WORKERS // 2
SETTINGS = [
    setting("alpha 1", auto_scenarios.exponential(1)),
    setting("half become slow", auto_scenarios.exponential(0.2),
            auto_scenarios.equal(HALF) + auto_scenarios.changing(HALF, {"atSeconds": 200, "factor": 5}), patience=LONG),
    setting("phases", auto_scenarios.phases(60)),
    setting("heavy tail", auto_scenarios.pareto(1.6), patience=LONG),
    setting("alpha 0.5", auto_scenarios.exponential(0.5)),
    setting("alpha 0.2", auto_scenarios.exponential(0.2)),
    setting("alpha 0", arms=("bsp", "b8", "gain", "noise", "blind", "adasync")),
]


def beside_best(measured, setting, arm, mode):
    """The best fixed k's time, known afterwards, beside an arm's: 1 is as good, more is better."""
    fixed = measured.fastest(setting.name, [one for one in OURS[arm] if one in setting.arms], mode)
    ratios = [ratio_of(theirs, mine) for mine, theirs in zip(measured.times(setting.name, arm, mode), measured.times(setting.name, fixed, mode))]
    return measured.row(arm, f"{setting.name}, {mode}", f"times as fast as the best fixed k, {fixed}", ratios)


def more(measured):
    for mode in (SAME, BEST):
        for arm in OURS:
            rows = [beside_best(measured, setting, arm, mode) for setting in measured.experiment.settings if arm in setting.arms]
            yield from rows
            values = [row["value"] or 0 for row in rows]
            yield measured.row(arm, f"all settings, {mode}", "times as fast as the best fixed k", values)
            if arm in PUBLISHED:
                yield measured.row(arm, f"the best of all settings, {mode}", "times as fast as the best fixed k", [max(values)], 3)


EXPERIMENT = Experiment("dbw", SETTINGS, more=more)
