"""Installing, as the README says, and what the API server says to people's first attempts."""
from job import digits
from kubectl import kubectl


def test_the_operator_is_ready_and_leads(operator):
    lease = kubectl("-n", "paceline-system", "get", "lease", "paceline-operator", "-o", "jsonpath={.spec.holderIdentity}")
    assert lease.startswith("paceline-operator")


def test_a_typo_is_refused_by_name(operator, namespace):
    manifest = digits()
    manifest["spec"]["training"]["globalBatchsize"] = 64
    assert 'unknown field "spec.training.globalBatchsize"' in namespace.refuses(manifest)
