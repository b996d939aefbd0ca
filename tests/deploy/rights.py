"""What the operator may do: all of it, written down, and what manifests or an API server grant it, to be held against that."""
import json

from tools import must

CORE, HERS = "", "paceline.dev"
PODGROUPS = ("scheduling.volcano.sh", "scheduling.x-k8s.io")
MAKES = "get list watch create patch delete"

# Where jobs are: API group, resource, verbs. Of Secrets neither list nor watch: peers keep all Secrets of a cluster in memory.
WHERE_JOBS_ARE = [
    (HERS, "trainingjobs", "get list watch delete"),
    (HERS, "trainingjobs/status", "get patch update"),
    (HERS, "trainingjobs/finalizers", "update"),
    (CORE, "pods", "get list watch create delete"),
    (CORE, "services", MAKES),
    (CORE, "configmaps", MAKES),
    ("networking.k8s.io", "networkpolicies", MAKES),
    ("policy", "poddisruptionbudgets", MAKES),
    (CORE, "persistentvolumeclaims", "get create patch"),
    (CORE, "secrets", "get create patch delete"),
    *[(group, "podgroups", MAKES) for group in PODGROUPS],
    ("events.k8s.io", "events", "list create patch"),
]

# In its own namespace beside that; the last is the one object that is meant, where there is one.
AT_HOME = [
    (CORE, "secrets", "create", ""),
    (CORE, "secrets", "get", "paceline-operator-authority"),
    ("coordination.k8s.io", "leases", "create", ""),
    ("coordination.k8s.io", "leases", "get update patch", "paceline-operator"),
]

ROLES = ("ClusterRole", "Role")


def where_jobs_are():
    return {(group, resource, "", verb) for group, resource, verbs in WHERE_JOBS_ARE for verb in verbs.split()}


def at_home(installation="paceline-operator", seeds=()):
    """With the names of other installations' Secrets, those as well."""
    more = [(*AT_HOME[3][:3], f"{installation}-leader")] + [(*AT_HOME[1][:3], name) for name in seeds]
    return {(group, resource, name, verb) for group, resource, verbs, name in [*AT_HOME, *more] for verb in verbs.split()}


def each(rules):
    """The rules one by one: {(API group, resource, name or nothing, verb)}."""
    return {(group, resource, name, verb) for rule in rules for group in rule.get("apiGroups", ["(URLs)"])
            for resource in rule.get("resources") or rule.get("nonResourceURLs", []) for name in rule.get("resourceNames") or [""]
            for verb in rule["verbs"]}


def granted(objects, home, at="default", account="paceline-operator"):
    """What those manifests let the operator's `account` in `home` do: {namespace, or nothing for all: what}. Those that say no
    namespace are applied to `at`. Nobody else is bound to anything, and no role takes what others add to it."""
    roles = {(thing["kind"], thing["metadata"].get("namespace", at), thing["metadata"]["name"]): thing
             for thing in objects if thing["kind"] in ROLES}
    rights = {}
    for binding in objects:
        if binding["kind"] not in [f"{role}Binding" for role in ROLES]:
            continue
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": home}], binding
        namespace = binding["metadata"].get("namespace", at)
        wanted = binding["roleRef"]
        place = namespace if wanted["kind"] == "Role" else at
        role = roles.get((wanted["kind"], place, wanted["name"]))
        assert role is not None, f"{binding['metadata']['name']} binds a role that is not among them: {wanted}"
        assert "aggregationRule" not in role, role
        where = "" if binding["kind"] == "ClusterRoleBinding" else namespace
        rights.setdefault(where, set()).update(each(role["rules"]))
    return rights


def all_rights(user, namespace):
    """What the API server lets that account do there, by its own word."""
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": namespace}}
    said = must("kubectl", "create", "--validate=false", f"--as={user}", "-f", "-", "-o", "json", text=json.dumps(review))
    status = json.loads(said)["status"]
    assert not status["incomplete"], status
    return each(status["resourceRules"] + status["nonResourceRules"])
