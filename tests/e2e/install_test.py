"""Installing, as the README says, and what the API server says to people's first attempts."""
import install
import pytest
from job import SAMPLE, Job, digits
from kubectl import kubectl, wait_until


def test_the_operator_is_ready_and_leads():
    lease = ["-n", "paceline-system", "get", "lease", "paceline-operator-leader", "-o", "jsonpath={.spec.holderIdentity}"]
    wait_until("a leader", lambda: kubectl(*lease).startswith("paceline-operator"), 60)


def test_a_typo_is_refused_by_name(namespace):
    manifest = digits()
    manifest["spec"]["training"]["globalBatchsize"] = 64
    assert 'unknown field "spec.training.globalBatchsize"' in namespace.refuses(manifest)


@pytest.mark.alone
def test_helm_installs_it_too(namespace):
    install.uninstall()
    try:
        install.install_with_helm()
        namespace.apply(SAMPLE)
        Job(namespace, "digits").wait_for("Succeeded", 300)
        install.uninstall_with_helm()
        wait_until("nothing of the chart is left", lambda: not kubectl("get", "crd,clusterrole,clusterrolebinding", "-o", "name",
                                                                         "-l", "app.kubernetes.io/instance=paceline"), 60)
    finally:
        install.uninstall()
        install.install()
