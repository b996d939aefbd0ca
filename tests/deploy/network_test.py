#!/usr/bin/env python3
"""Where everything is denied that no policy allows, ours allow each connection of the table in docs/install.md, and no other."""
import itertools
import re
import unittest

from chart import SETTINGS, of_kind, things
from network import Endpoint, allowed
from tools import ROOT, load, main

HOME, JOBS = "paceline-system", "research"

SERVERS = (("bulk", 7600), ("api", 7601), ("metrics", 7602))


def of_job(role, job="digits"):
    return Endpoint(f"{role} of {job}", JOBS, (("paceline.dev/job", job), ("paceline.dev/role", role)), SERVERS if role == "ps" else ())


def operator(**labels):
    return Endpoint("operator", HOME, (("app.kubernetes.io/name", "paceline"), ("app.kubernetes.io/component", "operator"), *labels.items()),
                    (("metrics", 8080), ("health", 8081)))


# As the table calls them.
ENDS = {
    "worker": of_job("worker"), "evaluator": of_job("evaluator"), "parameter server": of_job("ps"),
    "operator": operator(**{"app.kubernetes.io/instance": "paceline"}),
    "API server": Endpoint("API server", address="192.0.2.1"), "node": Endpoint("node", address="192.0.2.2"),
    "Prometheus": Endpoint("Prometheus", "monitoring", (("app", "prometheus"),)),
    "DNS": Endpoint("DNS", "kube-system", (("k8s-app", "kube-dns"),)),
}
STRANGER = Endpoint("stranger", JOBS, (("app", "shop"),))


def table():
    """{(from, to, port, protocol)} of the page."""
    section = re.search(r"^## Networks that are closed by default\n(.*?)^## ", (ROOT / "docs/install.md").read_text(), re.M | re.S).group(1)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("| ")][1:]
    connections = set()
    for sources, to, ports, what in rows:
        for source, port in itertools.product(sources.split(", "), ports.split(", ")):
            connections |= {(source, to, int(port), protocol) for protocol in (("TCP", "UDP") if "UDP" in what else ("TCP",))}
    return connections


def policy(name, namespace, **spec):
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def deny_all(namespace):
    return policy("deny-all", namespace, podSelector={}, policyTypes=["Ingress", "Egress"])


def of_file(name, namespace):
    return [{**thing, "metadata": {**thing["metadata"], "namespace": namespace}} for thing in load(f"deploy/policies/{name}.yaml")]


def of_the_job(job="digits"):
    """BuildNetworkPolicy in operator/objects; its tests hold it to this."""
    own = {"paceline.dev/job": job}
    operators = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": HOME}},
                 "podSelector": {"matchLabels": {"app.kubernetes.io/component": "operator"}}}
    return policy(job, JOBS, podSelector={"matchLabels": {**own, "paceline.dev/role": "ps"}}, policyTypes=["Ingress"],
                  ingress=[{"from": [{"podSelector": {"matchLabels": own}}], "ports": [{"port": 7600}]},
                           {"from": [operators], "ports": [{"port": 7601}]}, {"ports": [{"port": 7602}]}])


def of_the_chart(settings):
    return of_kind(things(settings), "NetworkPolicy")


DENIED = [deny_all(HOME), deny_all(JOBS), of_the_job(), of_the_job("other")]
# Those that the page offers for the operator.
OPERATORS = {"file": of_file("network-operator", HOME), "chart": of_the_chart(["security.networkPolicy.mode=IngressAndEgress"])}


class NetworkTest(unittest.TestCase):
    def test_ports_are_those_of_the_programs(self):
        ports = {int(port) for port in re.findall(r"constexpr int k\w+Port = (\d+);", (ROOT / "lib/job/ports.h").read_text())}
        self.assertEqual({port for _, to, port, _ in table() if to == "parameter server"}, ports)

    def test_what_the_page_lists_is_what_is_allowed(self):
        asked = set(itertools.product(ENDS, ENDS, (53, 443, 6443, 7600, 7601, 7602, 8080, 8081, 15008), ("TCP", "UDP")))
        # Whoever is not ours reaches what is open to anybody; the page says who has reason to.
        asked = {one for one in asked if one in table() or {one[0], one[1]} <= {"worker", "evaluator", "parameter server", "operator"}}
        open_to_anybody = {("operator", "operator", 8080, "TCP"), ("operator", "operator", 8081, "TCP")}
        for name, operators in OPERATORS.items():
            policies = [*DENIED, *operators, *of_file("network-jobs", JOBS)]
            with self.subTest(name):
                found = {one for one in asked if allowed(policies, ENDS[one[0]], ENDS[one[1]], *one[2:])}
                self.assertEqual(found - open_to_anybody, table())

    def test_without_our_policies_nothing_gets_out(self):
        ours = {"worker", "evaluator", "parameter server", "operator"}
        self.assertEqual([one for one in table() if one[0] in ours and allowed(DENIED, ENDS[one[0]], ENDS[one[1]], *one[2:])], [])

    def test_a_stranger_and_another_job_reach_no_gradients(self):
        policies = [*DENIED, *OPERATORS["chart"], *of_file("network-jobs", JOBS), *of_file("network-mesh", JOBS)]
        server = ENDS["parameter server"]
        self.assertFalse(allowed(policies, STRANGER, server, 7600))
        self.assertFalse(allowed(policies, of_job("worker", "other"), server, 7600))
        self.assertTrue(allowed(policies, of_job("worker", "other"), of_job("ps", "other"), 7600))

    def test_an_ambient_mesh_gets_in(self):
        outside = Endpoint("gateway", "mesh", (("app", "gateway"),))
        settings = ["operator.namespace=research", "security.networkPolicy.extraPorts[0].port=15008"]
        for name, policies in {"chart": [of_the_job(), *of_the_chart(settings)],
                               "file": [of_the_job(), *of_the_chart(settings[1:]), *of_file("network-mesh", JOBS)]}.items():
            with self.subTest(name):
                for end in ("operator", "parameter server", "worker"):
                    self.assertTrue(allowed(policies, outside, ENDS[end], 15008), end)
                # Nobody is kept from anything that he could do before.
                self.assertTrue(allowed(policies, outside, ENDS["worker"], 22))
                self.assertFalse(allowed(policies, outside, ENDS["parameter server"], 7600))
        closed = [*DENIED, *of_file("network-jobs", JOBS), *of_file("network-mesh", JOBS)]
        self.assertTrue(allowed(closed, ENDS["worker"], ENDS["parameter server"], 15008))
        self.assertFalse(allowed([of_the_job(), *of_the_chart([])], outside, ENDS["operator"], 15008))

    def test_what_is_not_set_changes_no_rule(self):
        [policy] = of_the_chart([])
        self.assertEqual(policy["spec"]["policyTypes"], ["Ingress"])
        self.assertEqual(policy["spec"]["ingress"], [{"ports": [{"protocol": "TCP", "port": "metrics"}, {"protocol": "TCP", "port": "health"}]}])

    def test_scrapers_may_be_named(self):
        policies = of_the_chart(SETTINGS["closed network"])
        tester = Endpoint("test", HOME, (("app.kubernetes.io/name", "paceline"), ("app.kubernetes.io/instance", "paceline"),
                                         ("app.kubernetes.io/component", "test")))
        for source, port, expected in ((ENDS["Prometheus"], 8080, True), (STRANGER, 8080, False), (tester, 8080, True),
                                       (ENDS["node"], 8081, True)):
            self.assertEqual(allowed(policies, source, ENDS["operator"], port), expected, (source.name, port))
        elsewhere = Endpoint("proxy", "proxies", (("app", "proxy"),), address="10.1.2.3")
        self.assertTrue(allowed(policies, ENDS["operator"], elsewhere, 3128))


if __name__ == "__main__":
    main()
