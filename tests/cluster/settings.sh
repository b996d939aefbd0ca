# Where things lie and which versions they have. Sourced by the other scripts; sets variables and nothing else.
#
#   XDG_CACHE_HOME       where the cache folder lies (default: ~/.cache)
#   KUBEBUILDER_ASSETS   a folder with etcd, kube-apiserver and kubectl, as operator projects know it; used where set
#   PACELINE_CLUSTER     the name of the cluster that the commands mean
#   PACELINE_NODE_IMAGE  the image that its nodes run

readonly repository=${here%/tests/cluster}

# Each version is said once: in the go.mod of the tool.
pinned() { sed -n "s|^require $2 ||p" "$here/tools/$1/go.mod"; }
kubernetes_version=$(pinned kubernetes k8s.io/kubernetes)
kind_version=$(pinned kind sigs.k8s.io/kind)
readonly kubernetes_version kind_version

# Everything that takes long to make lies outside of the tree, so that a clean checkout pays for nothing twice.
readonly cache=${XDG_CACHE_HOME:-$HOME/.cache}/paceline/cluster
readonly bin=$cache/k8s-$kubernetes_version/bin
readonly docker_folder=$cache/docker
readonly clusters=$cache/clusters

# The exit status by which ctest, make and CI know a skip.
readonly skipped=77

say() { echo "cluster: $*" >&2; }
fail() {
  echo "cluster: $*" >&2
  exit 1
}
skip() {
  echo "cluster: skipped: $*" >&2
  exit "$skipped"
}

# locked <name> <command...>: one at a time on this machine, so that two runs do not build the same thing twice.
locked() {
  local lock=$cache/$1.lock
  shift
  mkdir -p "$cache"
  (
    flock --nonblock 8 || { say "waiting for another run ($lock)" && flock 8; }
    "$@" 8>&-
  ) 8>"$lock"
}
