"""The scenarios that schemes are compared on: 28 that were used before, four at the edge of stability, and some drawn by chance.

A scenario is what a file of `paceline simulate` says without its arms (docs/simulation.md). Problem D is the digits sample's
MLP, problem Q the quadratic of 64 dimensions. A step of a worker's share of the batch takes a second on average, of which a
tenth does not depend on how many samples it has.
"""
import dataclasses
import pathlib
import random

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = {"model": str(ROOT / "simulator/scenarios/digits/mlp.pt"), "train": str(ROOT / "deploy/samples/digits/train.safetensors"),
          "loss": "CrossEntropy"}
D_TARGET = 0.1
D_RATE = 1.0      # at 1.4 BSP fails with some seeds.
Q_DIMENSIONS = 64
Q_TARGET = 0.02  # Of a start at 1.
Q_RATE = 0.7     # BSP fails from 2 on.
# Noise of Q, as what BSP comes to rest at beside the target.
LOW, MIDDLE, HIGH = 0.35, 0.7, 0.85


@dataclasses.dataclass
class Scenario:
    name: str
    problem: str       # D, or Q.
    workers: list      # As spec.cluster.workers.
    compute: dict = dataclasses.field(default_factory=dict)  # What all workers have beside their speed.
    batch: int = 128
    rate: float = 0.0    # 0: the problem's.
    momentum: float = 0.0
    noise: float = MIDDLE  # Q.
    target: float = 0.0  # 0: the problem's.
    latency: float = 0.01
    transfer: float = 0.001  # Seconds of the server's link, each way, that a transfer has for itself.
    schedule: dict | None = None

    @property
    def size(self):
        return sum(kind.get("count", 1) for kind in self.workers)

    def __post_init__(self):
        self.rate = self.rate or (D_RATE if self.problem == "D" else Q_RATE)
        self.target = self.target or (D_TARGET if self.problem == "D" else Q_TARGET)

    def spec(self):
        """As spec, without what ends it early and without arms."""
        per_sample = 0.9 * self.size / self.batch
        training = {"globalBatchSize": self.batch, "learningRate": self.rate, "momentum": self.momentum}
        if self.schedule:
            training["learningRateSchedule"] = self.schedule
        quadratic = {"dimensions": Q_DIMENSIONS, "noise": self.noise * self.target / rest(self.rate, 1, self.batch)}
        return {
            "training": training,
            "objective": {**DIGITS, "lossEveryPushes": self.size // 2} if self.problem == "D" else quadratic,
            "stop": {"loss": self.target},
            "cluster": {"compute": {"fixedSeconds": 0.1, "perSampleSeconds": per_sample, **self.compute},
                        "workers": self.workers,
                        "network": {"latencySeconds": self.latency, "serverBytesPerSecond": 1 / self.transfer, "bytes": 1}},
        }


def rest(rate, noise, batch):
    """Where SGD without momentum comes to rest on Q: F = s2 S / b / (1 - 2 S / b), with S = 1/2 sum rate l / (2 - rate l)."""
    spread = sum(rate / i / (2 - rate / i) for i in range(1, Q_DIMENSIONS + 1)) / 2
    return noise * spread / batch / (1 - 2 * spread / batch)


def exponential(share):
    """Mean 1: (1 - share) + share Exp(1)."""
    return {"jitter": {"kind": "ShiftedExponential", "shift": 1 - share, "mean": share}}


def pareto(shape):
    return {"jitter": {"kind": "Pareto", "least": (shape - 1) / shape, "shape": shape}}


def phases(seconds):
    return {"slowPhases": {"factor": 4, "fastSeconds": 3 * seconds, "slowSeconds": seconds}}


def slow(count, times, size):
    """So many of them take so many times as long."""
    return [{"count": size - count}, {"count": count, "speed": 1 / times}]


def equal(size):
    return [{"count": size}]


def changing(size, *changes):
    return [{"count": size, "compute": {"changes": list(changes)}}]


def in_turn():
    """One is 4x slower; from 40 s on all have exponential delays; from 80 s on another one is 3x slower."""
    calm, wild = {"kind": "Constant", "value": 1}, {"kind": "Exponential", "mean": 1}
    middle = {"atSeconds": 40, "jitter": wild}
    return [{"compute": {"changes": [{"atSeconds": 0, "factor": 4}, middle, {"atSeconds": 80, "jitter": calm}]}},
            {"compute": {"changes": [middle, {"atSeconds": 80, "factor": 3}]}},
            {"count": 6, "compute": {"changes": [middle, {"atSeconds": 80}]}}]


def deaths_and_joins():
    return [{"count": 2}, {"crashes": [{"atSeconds": 20, "returnsAfterSeconds": 30}]},
            {"crashes": [{"atSeconds": 60, "returnsAfterSeconds": 40}]}]


# The numbers are those of the table in docs/reproduction.md.
BEFORE = [
    Scenario("homogeneous", "D", equal(8)),
    Scenario("SE.2", "D", equal(16), exponential(0.2)),
    Scenario("SE1", "D", equal(8), exponential(1)),
    Scenario("SE1, low noise", "Q", equal(16), exponential(1), noise=LOW),
    Scenario("SE.5, high noise", "Q", equal(16), exponential(0.5), noise=HIGH),
    Scenario("lognormal .5", "D", equal(8), {"jitter": {"kind": "Lognormal", "mean": 1, "sigma": 0.5}}),
    Scenario("Pareto 1.6", "D", equal(8), pareto(1.6)),
    Scenario("2 % spikes x10", "D", equal(16), {"spikes": {"probability": 0.02, "factor": 10}}),
    Scenario("one 4x", "D", slow(1, 4, 8)),
    Scenario("one 4x, high noise", "Q", slow(1, 4, 4), noise=HIGH),
    Scenario("half 2.5x + SE.4", "D", slow(4, 2.5, 8), exponential(0.4)),
    Scenario("half 3x", "Q", slow(8, 3, 16)),
    Scenario("phases of 20 s x4", "D", equal(8), phases(20)),
    Scenario("phases of 4 s x4", "Q", equal(16), phases(4)),
    Scenario("half x5 from 20 s", "D", equal(4) + changing(4, {"atSeconds": 20, "factor": 5})),
    Scenario("4x, SE1, 3x in turn", "D", in_turn()),
    Scenario("two deaths and joins", "D", deaths_and_joins()),
    Scenario("comm-heavy", "D", equal(8), latency=0.02, transfer=0.05),
    Scenario("comm + one 2x", "Q", slow(1, 2, 8), latency=0.02, transfer=0.07),
    Scenario("momentum .9, SE1", "D", equal(8), exponential(1), rate=0.15, momentum=0.9),
    Scenario("momentum .9, one 3x", "D", slow(1, 3, 8), rate=0.15, momentum=0.9),
    Scenario("deep target, SE1", "Q", equal(16), exponential(1), noise=0.0032 / 0.0036, target=0.0036),
    Scenario("rate decays, SE1", "D", equal(16), exponential(1), schedule={"kind": "Step", "everySteps": 100, "factor": 0.5}),
    Scenario("two 3x + SE.3", "D", slow(2, 3, 16), exponential(0.3)),
    Scenario("B=32, SE1", "D", equal(8), exponential(1), batch=32),
    Scenario("B=32, one 4x", "D", slow(1, 4, 8), batch=32),
    Scenario("rate .4, SE1", "D", equal(8), exponential(1), rate=0.4),
    Scenario("rate .4, one 4x", "D", slow(1, 4, 8), rate=0.4),
]
EDGE = [
    Scenario("edge: SE1", "D", equal(8), exponential(1), rate=1.3),
    Scenario("edge: one 4x", "D", slow(1, 4, 8), rate=1.3),
    Scenario("edge: SE1", "Q", equal(16), exponential(1), rate=1.5),
    Scenario("edge: half 3x", "Q", slow(8, 3, 16), rate=1.5),
]




def large():
    """64 and 256 workers, with 16 samples each; the server's link is as much wider."""
    found = []
    for size in (64, 256):
        for name, workers, compute in (("SE.5", equal(size), exponential(0.5)), ("an eighth 4x", slow(size // 8, 4, size), {}),
                                       ("phases of 20 s x4", equal(size), phases(20))):
            found.append(Scenario(name, "Q", workers, compute, batch=16 * size, transfer=0.016 / size))
    return found


def drawn(count, seed):
    """By chance, over the ranges that docs/reproduction.md says; equal arguments give equal scenarios."""
    chance = random.Random(seed)
    found = []
    for number in range(count):
        size = chance.choice([4, 8, 16])
        problem = chance.choice("DQ")
        kind = chance.choice(["exponential", "lognormal", "pareto", "spikes", "one", "half", "phases"])
        workers, compute = equal(size), {}
        if kind == "exponential":
            compute = exponential(round(chance.uniform(0.2, 1), 2))
        elif kind == "lognormal":
            compute = {"jitter": {"kind": "Lognormal", "mean": 1, "sigma": round(chance.uniform(0.2, 0.8), 2)}}
        elif kind == "pareto":
            compute = pareto(round(chance.uniform(1.4, 2.5), 2))
        elif kind == "spikes":
            compute = {"spikes": {"probability": round(chance.uniform(0.01, 0.05), 3), "factor": round(chance.uniform(5, 20))}}
        elif kind == "phases":
            compute = phases(round(chance.uniform(4, 40)))
        else:
            times = round(chance.uniform(2, 5) if kind == "one" else chance.uniform(1.5, 4), 1)
            workers = slow(1 if kind == "one" else size // 2, times, size)
            compute = exponential(round(chance.uniform(0, 0.5), 2))
        rate = round(chance.uniform(0.4, 1), 2) * (1 if problem == "D" else Q_RATE)
        has_links = chance.random() < 0.2
        found.append(Scenario(f"drawn {number}: {kind} n{size}", problem, workers, compute, rate=rate,
                              batch=chance.choice([64, 128]), noise=round(chance.uniform(0.2, 0.8), 2),
                              latency=0.02 if has_links else 0.01, transfer=round(chance.uniform(0.02, 0.1), 3) if has_links else 0.001))
    return found
