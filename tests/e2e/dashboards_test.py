"""The operator's dashboard: each query returns data from a real Prometheus that scrapes the operator while it works."""
import re

import dashboards
import pytest
import tools
from job import digits
from kubectl import wait_until
from prometheus import Prometheus

DATA_SECONDS = 120


@pytest.fixture
def operator_address(tmp_path):
    """host:port of the operator's metrics, forwarded to this machine."""
    log = tmp_path / "forward.log"
    forward = tools.start("kubectl", "-n", "paceline-system", "port-forward", "service/paceline-operator-metrics", ":8080", log=log)
    yield wait_until("port-forward", lambda: re.findall(r"Forwarding from (127\.0\.0\.1:\d+)", log.read_text()), 60, log.read_text)[0]
    forward.terminate()
    forward.wait(timeout=30)


def test_every_query_of_the_operators_dashboard_returns_data(start_job, operator_address, tmp_path):
    prometheus = Prometheus(tmp_path, "operator", [operator_address])
    try:
        job = start_job(digits())
        asked = [(panel, dashboards.with_variables(query)) for panel, query in dashboards.queries("operator.json")]
        missing = dashboards.wait_for_data(prometheus.url, asked, DATA_SECONDS)
        assert missing == [], f"no data for {len(missing)} of {len(asked)} queries"
        job.wait_for("Succeeded", 300)
    finally:
        prometheus.stop()
