#!/usr/bin/env python3
"""The commands of docs/install.md as they stand, in the page's order, on a real API server. No pod runs there: tests/e2e does what
needs one."""
import re
import unittest

import chart  # noqa: F401  Which ends this where there is no helm.
from tools import ROOT, main, must

# What is left out, by how it begins, and why.
LEFT_OUT = {
    "make images": "compiles for half an hour; make e2e does it",
    "kubectl wait --for=condition=Succeeded": "no pod runs here; tests/e2e/install_test.py waits for the sample",
}
MANIFESTS = "kubectl apply --server-side -f deploy/crd -f deploy/rbac -f deploy/operator.yaml"
PREPARED = {
    # The page says "or": each begins without the other.
    "helm install paceline charts/paceline --namespace paceline-system --create-namespace": [
        # Not the namespace, which nobody here would finish to delete.
        "kubectl -n paceline-system delete deployment,service,serviceaccount,role,rolebinding --all",
        "kubectl delete clusterrole,clusterrolebinding -l app.kubernetes.io/name=paceline", "kubectl delete -f deploy/crd"],
    "kubectl -n research create rolebinding": ["kubectl create namespace research"],
    "kubectl --namespace paceline-system delete deployment paceline-operator": [
        "helm uninstall trainer --namespace paceline-system", MANIFESTS + " --force-conflicts"],
}


def commands():
    """Of the page's blocks of code, one a line."""
    page = (ROOT / "docs/install.md").read_text()
    for block in re.findall(r"^```(?:sh)?\n(.*?)^```", page, re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            if line := re.sub(r"\s+#.*", "", line).strip():
                yield line


class InstallPageTest(unittest.TestCase):
    def test_commands_do_what_the_page_says(self):
        left_out, prepared, ran = set(LEFT_OUT), set(PREPARED), []
        for command in commands():
            reasons = [start for start in LEFT_OUT if command.startswith(start)]
            if reasons:
                left_out -= set(reasons)
                continue
            for start in [start for start in PREPARED if command.startswith(start)]:
                prepared.discard(start)
                for before in PREPARED[start]:
                    must("bash", "-c", before)
            must("bash", "-c", command)
            ran.append(command)
        self.assertEqual((left_out, prepared), (set(), set()), "which no command begins with")
        self.assertGreater(len(ran), 9)


if __name__ == "__main__":
    main()
