"""Grafana dashboards, as far as a test needs them: their queries, asked of a real Prometheus."""
import json
import math
import re
import urllib.error
import urllib.parse
import urllib.request

from tools import ROOT, eventually

FOLDER = ROOT / "deploy/grafana"


def panels(name):
    return [panel for panel in json.loads((FOLDER / name).read_text())["panels"] if panel["type"] != "row"]


def queries(name):
    """(panel's title, expression) of each target."""
    return [(panel["title"], target["expr"]) for panel in panels(name) for target in panel["targets"]]


def rows(name):
    """The same by the title of the row that they stand in."""
    found = {}
    for panel in json.loads((FOLDER / name).read_text())["panels"]:
        if panel["type"] == "row":
            row = found.setdefault(panel["title"], [])
        else:
            row += [(panel["title"], target["expr"]) for target in panel["targets"]]
    return found


def with_variables(expression, **variables):
    """As Grafana would send it."""
    for variable, value in variables.items():
        expression = expression.replace(f"${variable}", value)
    return expression.replace("$__rate_interval", "15s")


def metrics_of(expression):
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"paceline_\w+", expression)}


def documented_metrics():
    return set(re.findall(r"^\| `(paceline_\w+)`", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE))


def ask(prometheus, expression):
    """The values that an expression has now; AssertionError with what Prometheus has against it."""
    url = f"{prometheus}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            result = json.load(answer)["data"]["result"]
    except urllib.error.HTTPError as error:
        if error.code == 503:  # It is still starting.
            raise
        raise AssertionError(f"{expression}: {error.read().decode()}") from error
    return [float(series["value"][1]) for series in result]


def wait_for_data(prometheus, asked, deadline_seconds):
    """Asks until each query has had a finite value; returns the queries, with their panels, that never had one."""
    missing = list(asked)

    def all_have_had_one():
        missing[:] = [(panel, query) for panel, query in missing
                      if not any(math.isfinite(value) for value in ask(prometheus, query))]
        return not missing
    eventually(all_have_had_one, deadline_seconds, every_seconds=1)
    return missing
