#!/usr/bin/env python3
"""The dashboards against a real Prometheus that scrapes a live `paceline run`: every query of the training dashboard returns
data. (The operator's is asked on a cluster: tests/e2e.)

    dashboards_live_test.py PACELINE
"""
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import dashboards
from prometheus import Prometheus
from tools import ROOT, main, need, start, wait_until

need("prometheus", "tools/setup --cluster installs it")
PACELINE = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else str(ROOT / "build/release/bin/paceline")

# Rows of one scheme: the run is changed to it before they are asked.
SCHEMES = {"DBW": ["sync.scheme=DBW"],
           "WBSP": ["sync.scheme=WBSP", "sync.batchSizing.strategy=Equal"],
           "PSPlus": ["sync.scheme=PSPlus", "sync.batchSizing.strategy=Equal"],
           "Auto": ["sync.scheme=Auto", "sync.batchSizing.strategy=Equal"]}

# One push of four is dropped, batch sizes follow speeds, workers sleep a little, and checkpoints are written, so that every panel
# has something to show; training lasts until it is interrupted.
SETTINGS = ["spec.sync.scheme=BackupWorkers", "spec.sync.backupWorkers.count=1", "spec.sync.batchSizing.strategy=NARX",
            'spec.chaos={"enabled": true, "delays": [{"kind": "Constant", "seconds": 0.002}]}',
            "spec.training.stop.maxEpochs=100000", "spec.checkpoint.periodSeconds=1",
            "spec.checkpoint.volume.persistentVolumeClaim.claimName=checkpoints"]
START_SECONDS, DATA_SECONDS = 60, 120


class LiveRun:
    """`paceline run` of the sample job, with its ports."""

    def __init__(self, folder):
        self.log = folder / "run.log"
        self.folder = folder
        flags = [word for setting in SETTINGS for word in ("--set", setting)]
        self.process = start(
            PACELINE, "run", str(ROOT / "deploy/samples/digits.yaml"), "--runs", str(folder / "runs"), *flags,
            log=self.log, cwd=folder, env={**os.environ, "TMPDIR": str(folder)})
        wait_until("two parameter servers with ports", START_SECONDS, lambda: len(self.ports()) == 2, self.log.read_text)

    def ports(self):
        if self.process.poll() is not None:
            raise AssertionError(f"paceline run ended:\n{self.log.read_text()}")
        return [text for file in self.folder.glob("*/*-ps-*.port") if (text := file.read_text().strip())]

    def change(self, settings):
        subprocess.run([PACELINE, "ctl", "set", "--runs", str(self.folder / "runs"), *settings], check=True, timeout=60)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class DashboardsLiveTest(unittest.TestCase):
    def test_every_query_of_the_training_dashboard_returns_data(self):
        with tempfile.TemporaryDirectory(prefix="dash.") as folder:
            run = LiveRun(Path(folder))
            self.addCleanup(run.stop)
            prometheus = Prometheus(Path(folder), "digits", [f"127.0.0.1:{port}" for port in run.ports()])
            self.addCleanup(prometheus.stop)
            rows = dashboards.rows("training.json")
            general = [query for row, queries in rows.items() if row not in SCHEMES for query in queries]
            self.expect_data(prometheus, general, run)
            k, workers = (dashboards.ask(prometheus.url, f"max({name})") for name in ("paceline_step_waits_for", "paceline_workers"))
            self.assertEqual((k, workers), ([3.0], [4.0]))
            slept = dashboards.ask(prometheus.url, "max(rate(paceline_worker_injected_seconds_total[15s]))")
            self.assertGreater(max(slept), 0)  # Without chaos the panel shows zero, which would do above.
            for scheme, settings in SCHEMES.items():
                run.change(settings)
                self.expect_data(prometheus, rows[scheme], run)
            self.doCleanups()
        print(f"{sum(map(len, rows.values()))} queries of the training dashboard had data", file=sys.stderr)

    def expect_data(self, prometheus, queries, run):
        asked = [(panel, dashboards.with_variables(query, namespace=".*", job="digits")) for panel, query in queries]
        missing = dashboards.wait_for_data(prometheus.url, asked, DATA_SECONDS)
        self.assertEqual(missing, [], f"no data for {len(missing)} of {len(asked)} queries\n{run.log.read_text()[-2000:]}")


if __name__ == "__main__":
    main()
