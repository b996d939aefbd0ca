"""Ours: compositions of parts of several schemes, beside the best single scheme, on a mixed cluster.

Two of eight workers are three times slower for good, delays are 0.7 + 0.3 Exp(1), transfers share a slow link, and one worker dies every 200 s
and is back after 60 s.
"""
import problems
from experiment import BEST, SAME, Experiment, Setting

WORKERS = 8
TARGET, RATE = 0.05, 0.35
EMA = {"strategy": "EMA"}
SINGLES = {
    "bsp": {"scheme": "BSP"},
    "backup2": {"scheme": "BackupWorkers", "backupWorkers": {"count": 2}},
    "dbw": {"scheme": "DBW"},
    "ssp3": {"scheme": "SSP", "ssp": {"staleness": 3}},
    "asp": {"scheme": "ASP"},
    "k-batch2": {"scheme": "KBatchAsync", "quorum": 2},
    "wbsp": {"scheme": "WBSP"},
    "ps+": {"scheme": "PSPlus"},
    "lb-bsp": {"scheme": "BSP", "batchSizing": EMA},
}
COMPOSED = {
    "lb-bsp, eager": {"scheme": "BSP", "meanwhile": "EagerPull", "reach": 1, "batchSizing": EMA},
    "backup2, eager": {"scheme": "BackupWorkers", "backupWorkers": {"count": 2}, "meanwhile": "EagerPull", "reach": 1},
    "backup2, local steps": {"scheme": "BackupWorkers", "backupWorkers": {"count": 2}, "meanwhile": "LocalSteps"},
    "backup2, late weighed": {"scheme": "BackupWorkers", "backupWorkers": {"count": 2}, "late": "Weigh"},
    "dbw, eager": {"scheme": "DBW", "meanwhile": "EagerPull", "reach": 1, "dbw": {"method": "Blind"}},
    "wbsp, by speed": {"scheme": "WBSP", "batchSizing": EMA},
    "ps+, by speed": {"scheme": "PSPlus", "batchSizing": EMA},
    "asp, modulated, by speed": {"scheme": "ASP", "modulation": {"rule": "Staleness"}, "batchSizing": EMA},
}


def mixed():
    deaths = [{"atSeconds": at, "returnsAfterSeconds": 60} for at in range(200, 20_000, 200)]
    return Setting("mixed", {
        "training": {"globalBatchSize": WORKERS * problems.SAMPLES},
        "objective": problems.digits(WORKERS),
        "stop": {"loss": TARGET, "seconds": 12_000},
        "cluster": {
            "compute": {"fixedSeconds": 0.1, "perSampleSeconds": 0.9 / problems.SAMPLES,
                        "jitter": {"kind": "ShiftedExponential", "shift": 0.7, "mean": 0.3}},
            "workers": [{"count": 5}, {"crashes": deaths}, {"count": 2, "speed": 1 / 3}],
            "network": {"latencySeconds": 0.01, "serverBytesPerSecond": 20, "bytes": 1}},
    }, RATE, SINGLES | COMPOSED)


def more(measured):
    for mode in (SAME, BEST):
        ours, other = measured.fastest("mixed", COMPOSED, mode), measured.fastest("mixed", SINGLES, mode)
        yield measured.beside("mixed", ours, other, mode, unit=f"of the time of the best single scheme, {other}")


EXPERIMENT = Experiment("compositions", [mixed()], more=more)
