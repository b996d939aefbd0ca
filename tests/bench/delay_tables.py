"""Delay tables for beside_ddp.py: seconds that each worker sleeps in each of its steps, of a fixed seed.

A table is a list of rows, one a step, of a column a worker; both sides of the comparison read it from the same CSV file.
"""
import random


def _jittery(draw, alpha):
    """A shifted exponential of mean 1."""
    return 1 - alpha + alpha * draw.expovariate(1)


def jitter(draws, rows):
    """Exponential, mean 150 ms, as digits-jitter.yaml has it: nothing stays with a worker."""
    return [[0.15 * _jittery(draw, 1) for draw in draws] for _ in range(rows)]


def half_jitter(draws, rows):
    """The same mean, of which half is sure."""
    return [[0.15 * _jittery(draw, 0.5) for draw in draws] for _ in range(rows)]


def mixed(draws, rows):
    """The last worker is four times slower for good; 80 ms of the others, three tenths of it exponential."""
    pace = [1] * (len(draws) - 1) + [4]
    return [[0.08 * times * _jittery(draw, 0.3) for draw, times in zip(draws, pace)] for _ in range(rows)]


def pareto(draws, rows):
    """Mean 150 ms, shape 1.6: most steps are short, a few very long."""
    shape = 1.6
    least = 0.15 * (shape - 1) / shape
    return [[least * draw.paretovariate(shape) for draw in draws] for _ in range(rows)]


def phases(draws, rows):
    """Each worker is five times slower for 10 of its steps in the mean and at its pace for 30; 80 ms, as mixed."""
    is_slow = [draw.random() < 0.25 for draw in draws]
    table = []
    for _ in range(rows):
        table.append([0.08 * (5 if slow else 1) * _jittery(draw, 0.3) for draw, slow in zip(draws, is_slow)])
        is_slow = [slow != (draw.random() < (1 / 10 if slow else 1 / 30)) for draw, slow in zip(draws, is_slow)]
    return table


KINDS = {"jitter": jitter, "half-jitter": half_jitter, "mixed": mixed, "Pareto": pareto, "phases": phases}


def table(kind, seed, workers, rows):
    """Each worker draws from a stream of its own."""
    return KINDS[kind]([random.Random(f"{kind} {seed} {worker}") for worker in range(workers)], rows)


def as_csv(rows):
    return "".join(",".join(f"{seconds:.6f}" for seconds in row) + "\n" for row in rows)


def from_csv(text):
    return [[float(cell) for cell in line.split(",")] for line in text.splitlines()]
