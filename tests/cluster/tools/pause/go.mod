module paceline.dev/tests/cluster/tools/pause

go 1.24
