#!/usr/bin/env python3
"""The plain manifests grant the operator what it needs and nothing else."""
import unittest

from rights import at_home, granted, where_jobs_are
from tools import ROOT, load, main

HOME = "paceline-system"


def folder(path):
    return [thing for file in sorted((ROOT / path).glob("*.yaml")) for thing in load(file)]


class RightsTest(unittest.TestCase):
    maxDiff = None

    def test_all_that_is_granted_is_what_is_written_down(self):
        self.assertEqual(granted(folder("deploy/rbac"), HOME), {"": where_jobs_are(), HOME: at_home()})

    def test_all_that_is_granted_in_one_namespace_is_what_is_written_down(self):
        home = [thing for name in ("account", "authority", "leader-election") for thing in load(f"deploy/rbac/{name}.yaml")]
        self.assertEqual(granted(home + folder("deploy/rbac-namespaced"), HOME, at="research"),
                         {"research": where_jobs_are(), HOME: at_home()})

    def test_secrets_are_neither_listed_nor_watched_and_nothing_has_an_asterisk(self):
        for rights in granted(folder("deploy/rbac"), HOME).values():
            self.assertEqual([right for right in rights if "*" in right], [])
            self.assertEqual([right for right in rights if right[1] == "secrets" and right[3] in ("list", "watch")], [])


if __name__ == "__main__":
    main()
