#!/usr/bin/env python3
"""Live runs of one sample beside simulated ones: seconds a version under BSP and under ASP, on the cluster that the BSP run tells of.

    tests/integration/simulated_beside_live.py BUILD

No part of `make test`: it measures time, and takes over half a minute. What is simulated must be within BOUND of what was live; on a quiet machine it is
within a few percent, and what else runs on the machine goes into the live figures.
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = "deploy/samples/digits-h2.yaml"
SCHEMES = {"bsp": "BSP", "asp": "ASP"}
EPOCHS = 6
BOUND = 0.30  # Of the live figure.


def paceline(program, *words):
    done = subprocess.run([program, *words], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        sys.exit(f"paceline {' '.join(map(str, words))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def main():
    program = Path(sys.argv[1]).resolve() / "bin" / "paceline"
    wrong = False
    with tempfile.TemporaryDirectory() as folder:
        clusters = {}
        for arm, scheme in SCHEMES.items():
            runs = Path(folder) / arm
            paceline(program, "run", SAMPLE, "--runs", runs, "--set", f"spec.sync.scheme={scheme}", "--set", f"spec.training.stop={{maxEpochs: {EPOCHS}}}")
            run, = (path for path in runs.iterdir() if path.is_dir() and not path.is_symlink())
            clusters[arm] = paceline(program, "calibrate", run)
        scenario = Path(folder) / "cluster.yaml"
        scenario.write_text(re.sub(r"stop: \{.*\}", "stop: {steps: 240}", clusters["bsp"]), encoding="utf-8")
        lives = json.loads(paceline(program, "simulate", scenario, "-o", "json"))
        for arm, cluster in clusters.items():
            live = float(re.search(r"versions in \S+ s, (\S+) s each", cluster).group(1))
            simulated = sorted(life["step_seconds"] for life in lives if life["arm"] == arm)
            middle = simulated[len(simulated) // 2]
            off = middle / live - 1
            print(f"{arm}: live {live:.4f} s a version, simulated {middle:.4f}, {100 * off:+.0f} %")
            wrong |= abs(off) > BOUND
    if wrong:
        sys.exit(f"more than {100 * BOUND:.0f} % off")


if __name__ == "__main__":
    main()
