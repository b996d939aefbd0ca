#!/usr/bin/env python3
"""The alert rules, judged by Prometheus' own tool: they parse, and fire when rules_test.yaml says."""
import re
import unittest

from tools import ROOT, load, main, must, need

PROMTOOL = need("promtool", "tools/setup --cluster installs Prometheus")


class AlertsTest(unittest.TestCase):
    def test_rules_parse(self):
        must(PROMTOOL, "check", "rules", "deploy/prometheus/rules.yaml")

    def test_rules_fire_when_they_should(self):
        must(PROMTOOL, "test", "rules", "deploy/prometheus/rules_test.yaml")

    def test_rules_use_documented_metrics_alone(self):
        documented = set(re.findall(r"^\| `(paceline_\w+)`", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE))
        for group in load("deploy/prometheus/rules.yaml")[0]["groups"]:
            for rule in group["rules"]:
                used = {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"paceline_\w+", rule["expr"])}
                self.assertLessEqual(used, documented, rule["alert"])


if __name__ == "__main__":
    main()
