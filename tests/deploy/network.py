"""What NetworkPolicies allow, by Kubernetes' rules: what no policy selects may speak to anybody, what some do to whom one of them
names. As far as the policies here go: peers by labels and address, ports by number and name."""
import dataclasses
import ipaddress


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """A pod; without labels something outside of the cluster, which no policy isolates and no label finds."""
    name: str
    namespace: str = ""
    labels: tuple = ()
    ports: tuple = ()  # (name, number)
    address: str = "10.244.0.1"

    @property
    def is_pod(self):
        return bool(self.labels)


def selects(selector, labels):
    labels = dict(labels)
    for expression in selector.get("matchExpressions", []):
        assert expression["operator"] == "Exists", expression
        if expression["key"] not in labels:
            return False
    return selector.get("matchLabels", {}).items() <= labels.items()


def is_peer(peer, end, policy_namespace):
    if "ipBlock" in peer:
        return ipaddress.ip_address(end.address) in ipaddress.ip_network(peer["ipBlock"]["cidr"])
    if not end.is_pod:
        return False
    if "namespaceSelector" in peer:
        if not selects(peer["namespaceSelector"], [("kubernetes.io/metadata.name", end.namespace)]):
            return False
    elif end.namespace != policy_namespace:
        return False
    return selects(peer.get("podSelector", {}), end.labels)


def is_port(rule, to, port, protocol):
    """A named port is that of the pod which is spoken to."""
    if "ports" not in rule:
        return True
    return any(one.get("protocol", "TCP") == protocol and dict(to.ports).get(one["port"], one["port"]) == port for one in rule["ports"])


def lets(policies, end, other, direction, to, port, protocol):
    """Whether `end` may speak with `other` that way."""
    if not end.is_pod:
        return True
    isolating = [policy for policy in policies if policy["metadata"]["namespace"] == end.namespace and
                 direction in policy["spec"]["policyTypes"] and selects(policy["spec"]["podSelector"], end.labels)]
    rules, peers = ("ingress", "from") if direction == "Ingress" else ("egress", "to")
    return not isolating or any(
        is_port(rule, to, port, protocol) and (not rule.get(peers) or any(
            is_peer(peer, other, policy["metadata"]["namespace"]) for peer in rule[peers]))
        for policy in isolating for rule in policy["spec"].get(rules, []))


def allowed(policies, source, to, port, protocol="TCP"):
    return (lets(policies, source, to, "Egress", to, port, protocol) and lets(policies, to, source, "Ingress", to, port, protocol))
