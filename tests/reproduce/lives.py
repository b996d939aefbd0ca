"""Lives of `paceline simulate`, and what they are beside one another."""
import json
import math
import pathlib
import statistics
import subprocess
import tempfile

FAILED = math.inf


class Simulator:
    def __init__(self, build, seeds):
        self.program = pathlib.Path(build).resolve() / "bin" / "paceline"
        self.seeds = seeds

    def run(self, spec, syncs, traces=None):
        """Rows of all lives, or what the simulator says is wrong. Their traces go to a folder, where one is named."""
        spec = {**spec, "seeds": self.seeds, "arms": [{"name": name, "sync": sync} for name, sync in syncs.items()]}
        text = json.dumps({"apiVersion": "paceline.dev/v1alpha1", "kind": "Scenario", "spec": spec})
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(text)
            file.flush()
            words = [self.program, "simulate", file.name, "-o", "json", *(["--traces", traces] if traces else [])]
            ran = subprocess.run(words, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise RuntimeError(ran.stderr.strip() or f"paceline simulate ended with {ran.returncode}")
        return json.loads(ran.stdout)


def seconds_of(rows):
    """Of each arm, by seed: virtual time to the target; FAILED where it was not reached."""
    times = {}
    for row in rows:
        times.setdefault(row["arm"], []).append(row["seconds"] if row["ending"] == "target" else FAILED)
    return times


def beside(times, bsp):
    """Median, least and most of one arm's time beside BSP's, seed by seed."""
    ratios = [mine / theirs for mine, theirs in zip(times, bsp)]
    return statistics.median_low(ratios), min(ratios), max(ratios)
