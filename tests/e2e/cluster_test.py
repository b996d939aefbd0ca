"""Whether the cluster is what the suite takes for granted."""
from job import ROOT
from kubectl import kubectl, run


def test_nodes_reach_one_another_and_share_a_folder():
    run(str(ROOT / "tests/cluster/smoke"), deadline_seconds=300)


def test_images_are_on_the_nodes():
    wanted = set(run(str(ROOT / "tools/images"), "names").split())
    images = kubectl("get", "nodes", "-o", "jsonpath={.items[*].status.images[*].names[*]}").split()
    found = {name for name in wanted if any(image.endswith(name) for image in images)}
    assert found == wanted
