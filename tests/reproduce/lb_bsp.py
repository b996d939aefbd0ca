"""LB-BSP (Chen et al., SoCC 2020): batches by speed on a mix of GPUs, and on CPUs with interference.

GPUs: 16 workers of the published kinds K520, K80 and M60 with 429, 628 and 917 samples/s and 512 samples each; how many there are of
each kind is our choice. CPUs: 32 workers of three kinds, of which each loses two thirds of its processor for 20 s now and then.
"""
import statistics

import predictors
import problems
from experiment import BEST, SAME, Experiment, Setting, ratio_of

SPEEDS = {429: 6, 628: 5, 917: 5}
GPU_BATCH, CPU_BATCH = 512, 16
TARGET, RATE = 0.02, 0.5
TRACED = 600  # Steps whose speeds are looked at; of them the first ones, until NARX is used, are left out where predictions are judged.
SKIPPED = 100


def sized(**sizing):
    return {"scheme": "BSP", "batchSizing": sizing}


OTHERS = {"ssp3": {"scheme": "SSP", "ssp": {"staleness": 3}}, "asp": {"scheme": "ASP"}}
GPU_ARMS = {"bsp": {"scheme": "BSP"}, "lb-stepwise": sized(strategy="Stepwise"), "lb-ema": sized(strategy="EMA"), **OTHERS}
CPU_ARMS = {"bsp": {"scheme": "BSP"}, "lb-last": sized(strategy="EMA", emaWeight=1), "lb-ema": sized(strategy="EMA"),
            "lb-narx": sized(strategy="NARX"), **OTHERS}


def gpus():
    workers = [{"count": count, "speed": speed / min(SPEEDS)} for speed, count in SPEEDS.items()]
    count = sum(SPEEDS.values())
    return Setting("GPUs", {
        "training": {"globalBatchSize": count * GPU_BATCH},
        "objective": {**problems.quadratic(noise=10), "lossEveryPushes": count},
        "stop": {"loss": TARGET, "seconds": 12_000},
        "cluster": {
            "compute": {"perSampleSeconds": 1 / min(SPEEDS), "leastSamples": 64, "jitter": {"kind": "Lognormal", "mean": 1, "sigma": 0.02}},
            "workers": workers, "network": {"latencySeconds": 0.001}},
    }, RATE, GPU_ARMS)


def cpus():
    phases = {"slowPhases": {"factor": 3, "fastSeconds": 60, "slowSeconds": 20}}
    return Setting("CPUs", {
        "training": {"globalBatchSize": 32 * CPU_BATCH},
        "objective": {**problems.quadratic(noise=1), "lossEveryPushes": 32},
        "stop": {"loss": TARGET, "seconds": 40_000},
        "cluster": {
            "compute": {"perSampleSeconds": 1 / CPU_BATCH, "jitter": {"kind": "Lognormal", "mean": 1, "sigma": 0.05}, **phases},
            "workers": [{"count": 11}, {"count": 11, "speed": 1.25}, {"count": 10, "speed": 1.5}],
            "network": {"latencySeconds": 0.001}},
    }, RATE, CPU_ARMS)


def more(measured):
    yield from gains(measured)
    yield from shares_of_bound(measured, "GPUs", ("bsp", "lb-stepwise", "lb-ema"))
    traces = yield from shares_of_bound(measured, "CPUs", ("bsp", "lb-last", "lb-ema", "lb-narx"))
    judged = [predictors.judged(measured.lab.program("predict_speeds"), trace, SKIPPED) for trace in traces["lb-ema"]]
    for name in judged[0]:
        for place, unit in enumerate(("RMSE of log speed", "of the bound, had shares been as it says")):
            yield measured.row(name, "CPUs, recorded speeds", unit, [one[name][place] for one in judged])


def gains(measured):
    """How many times as fast as BSP, and how near that is to mean(v) / min(v)."""
    speeds = [speed for speed, count in SPEEDS.items() for _ in range(count)]
    bound = statistics.mean(speeds) / min(speeds)
    for setting, arms in (("GPUs", ("lb-stepwise", "lb-ema")), ("CPUs", ("lb-last", "lb-ema", "lb-narx"))):
        for mode in (SAME, BEST):
            best = measured.fastest(setting, arms, mode)
            ratios = [ratio_of(slow, fast) for fast, slow in zip(measured.times(setting, best, mode), measured.times(setting, "bsp", mode))]
            yield measured.row(best, f"{setting}, {mode}", "times as fast as BSP", ratios, 2 if setting == "CPUs" else 1.54)
            if setting == "GPUs":
                yield measured.row(best, f"{setting}, {mode}", "of mean(v) / min(v)", [ratio / bound for ratio in ratios])


def shares_of_bound(measured, setting, arms):
    """Of each arm the time that its steps would have lasted had nobody waited, X / sum v, beside what they lasted. Gives the traces."""
    where = measured.settings[setting]
    traces = {arm: measured.lab.traces(where, arm, where.rate, TRACED).result() for arm in arms}
    for arm, of_arm in traces.items():
        shares = [predictors.bound_of(trace, where.spec["training"]["globalBatchSize"]) / seconds for trace, seconds in of_arm]
        yield measured.row(arm, f"{setting}, {TRACED} steps", "of the bound X / sum v", shares)
    return {arm: [trace for trace, _ in of_arm] for arm, of_arm in traces.items()}


EXPERIMENT = Experiment("lb-bsp", [gpus(), cpus()], more=more)
