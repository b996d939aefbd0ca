"""A real Prometheus that scrapes what a test runs, with the repository's alert rules loaded."""
import socket

import dashboards
from tools import ROOT, find, start, wait_until

START_SECONDS = 60


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Prometheus:
    """Scrapes host:port targets once a second; returns when each has been scraped. `folder` gets its data and its log.
    FileNotFoundError if there is no prometheus (tools/setup --cluster installs it)."""

    def __init__(self, folder, job, targets):
        self.targets = targets
        self.log = folder / "prometheus.log"
        self.url = f"http://127.0.0.1:{free_port()}"
        config = folder / "prometheus.yml"
        config.write_text(f"""
global: {{scrape_interval: 1s}}
rule_files: [{ROOT}/deploy/prometheus/rules.yaml]
scrape_configs:
  - job_name: {job}
    static_configs: [{{targets: {targets}}}]
""")
        self.process = start(
            find("prometheus") or "prometheus", f"--config.file={config}",
            f"--storage.tsdb.path={folder}/data", f"--web.listen-address={self.url.removeprefix('http://')}", log=self.log)
        wait_until("Prometheus that scrapes all targets", START_SECONDS, self.scrapes_all, self.log.read_text)

    def scrapes_all(self):
        try:
            return dashboards.ask(self.url, "sum(up)") == [float(len(self.targets))]
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)
