"""Whether the cluster is what the suite takes for granted."""
from job import ROOT
from kubectl import run


def test_nodes_reach_one_another_and_share_a_folder():
    run(str(ROOT / "tests/cluster/smoke"), deadline_seconds=300)
