"""How well a worker's next speed is told: by the last one, a mean, a linear ARX, and NARX, on steps that a trace recorded."""
import math
import re
import subprocess

PUSH = re.compile(r"^@\S+ push w(\d+) #\d+ based-on=v(\d+) .*?samples=(\d+) .*?compute=([\d.e-]+)(?:.* cpu=([\d.e-]+))?")
LAGS, READINGS = 5, 3  # As lib/sync's NARX.


def steps_of(trace):
    """{worker: [(version, speed, share of the processor after it)]}, by worker."""
    found = {}
    for line in trace.splitlines():
        if match := PUSH.match(line):
            worker, version, samples, compute, share = match.groups()
            found.setdefault(int(worker), []).append((int(version), int(samples) / float(compute), float(share or 1)))
    return found


class LinearArx:
    """log v = w (1, the last five log v, the last three readings), by recursive least squares."""

    def __init__(self, ridge=1e-3):
        count = 1 + LAGS + READINGS
        self.weights = [0.0, 1.0] + [0.0] * (count - 2)  # The last value, until something was learnt.
        self.covariance = [[(i == j) / ridge for j in range(count)] for i in range(count)]

    def says(self, inputs):
        return sum(weight * value for weight, value in zip(self.weights, inputs))

    def learn(self, inputs, truth):
        along = [sum(cell * value for cell, value in zip(row, inputs)) for row in self.covariance]
        gain = 1 + sum(value * one for value, one in zip(inputs, along))
        error = truth - self.says(inputs)
        self.weights = [weight + one * error / gain for weight, one in zip(self.weights, along)]
        self.covariance = [[cell - one * other / gain for cell, other in zip(row, along)] for row, one in zip(self.covariance, along)]


def arx(steps):
    """What it says of each step; nothing before it can look back so far."""
    model, said = LinearArx(), []
    logs, shares = [math.log(speed) for _, speed, _ in steps], [share for _, _, share in steps]
    for i in range(len(steps)):
        if i < LAGS:
            said.append(None)
            continue
        inputs = [1.0, *reversed(logs[i - LAGS:i]), *reversed(shares[i - READINGS:i])]
        said.append(math.exp(max(-50, min(50, model.says(inputs)))))
        model.learn(inputs, logs[i])
    return said


def predictions(program, workers):
    """{predictor: {worker: [what is said of each step, or None]}}."""
    text = "".join("".join(f"{speed!r} {share!r}\n" for _, speed, share in steps) + "-\n" for steps in workers.values())
    lines = iter(subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout.splitlines())
    said = {"last value": {}, "EMA": {}, "linear ARX": {}, "NARX": {}}
    for worker, steps in workers.items():
        pairs = [[float(word) or None for word in next(lines).split()] for _ in steps]
        said["last value"][worker] = [None] + [speed for _, speed, _ in steps[:-1]]
        said["EMA"][worker], said["NARX"][worker] = ([pair[i] for pair in pairs] for i in (0, 1))
        said["linear ARX"][worker] = arx(steps)
    return said


def judged(program, trace, skip):
    """Of steps after the first `skip`: {predictor: (RMSE of log speed, share of the bound)}.

    The share is that of X / sum v in how long a barrier would have lasted if shares had been as predictions: max x_i / v_i.
    """
    workers = steps_of(trace)
    count = min(len(steps) for steps in workers.values())
    found = {}
    for name, said in predictions(program, workers).items():
        squares, bound, lasted = [], 0.0, 0.0
        for i in range(skip, count):
            speeds = [steps[i][1] for steps in workers.values()]
            told = [said[worker][i] for worker in workers]
            squares += [math.log(one / other) ** 2 for one, other in zip(told, speeds)]
            bound += 1 / sum(speeds)
            lasted += max(one / other for one, other in zip(told, speeds)) / sum(told)
        found[name] = (math.sqrt(sum(squares) / len(squares)), bound / lasted)
    return found


def bound_of(trace, samples):
    """Seconds that its steps would have lasted at least: X / sum of the speeds in each."""
    workers = steps_of(trace)
    return sum(samples / sum(steps[i][1] for steps in workers.values()) for i in range(min(len(steps) for steps in workers.values())))
