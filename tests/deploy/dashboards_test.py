#!/usr/bin/env python3
"""The dashboards as they are written: what they ask for is documented, what they show is explained. (Their queries are asked of a
real Prometheus: dashboards_live_test.py, tests/e2e.)
"""
import unittest

import dashboards
from tools import main


class DashboardsTest(unittest.TestCase):
    def test_queries_use_documented_metrics_alone(self):
        documented = dashboards.documented_metrics()
        for file in dashboards.FOLDER.iterdir():
            for panel, query in dashboards.queries(file.name):
                with self.subTest(dashboard=file.name, panel=panel):
                    self.assertLessEqual(dashboards.metrics_of(query), documented)

    def test_panels_say_what_they_show(self):
        for file in dashboards.FOLDER.iterdir():
            titles = [panel["title"] for panel in dashboards.panels(file.name)]
            self.assertEqual(len(titles), len(set(titles)), file.name)
            for panel in dashboards.panels(file.name):
                self.assertTrue(panel["description"], panel["title"])
                self.assertTrue(panel["targets"], panel["title"])


if __name__ == "__main__":
    main()
