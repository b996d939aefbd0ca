module paceline.dev/tests/cluster/probe

go 1.24
