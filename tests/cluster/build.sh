# Binaries: ordinary Go modules, pinned by the go.mod and go.sum in tools/, built by the ordinary go command into the
# cache. A registry, a release page or a package archive is not needed; the module proxy is enough.

# <binary> <folder in tools/> <package>
readonly tool_table='
etcd                     etcd                    go.etcd.io/etcd/server/v3
kube-apiserver           kubernetes              k8s.io/kubernetes/cmd/kube-apiserver
kube-controller-manager  kubernetes              k8s.io/kubernetes/cmd/kube-controller-manager
kube-scheduler           kubernetes              k8s.io/kubernetes/cmd/kube-scheduler
kubectl                  kubernetes              k8s.io/kubernetes/cmd/kubectl
kube-proxy               kubernetes              k8s.io/kubernetes/cmd/kube-proxy
kubelet                  kubernetes              k8s.io/kubernetes/cmd/kubelet
kubeadm                  kubernetes              k8s.io/kubernetes/cmd/kubeadm
dra-test-driver          kubernetes              k8s.io/kubernetes/test/e2e/dra/test-driver
kind                     kind                    sigs.k8s.io/kind
local-path-provisioner   local-path-provisioner  github.com/rancher/local-path-provisioner
coredns                  coredns                 .
crictl                   crictl                  .
pause                    pause                   .
kube-router              kube-router             github.com/cloudnativelabs/kube-router/v2/cmd/kube-router
helm                     helm                    helm.sh/helm/v3/cmd/helm
kubeconform              kubeconform             github.com/yannh/kubeconform/cmd/kubeconform
kube-score               kube-score              github.com/zegl/kube-score/cmd/kube-score
kwok                     kwok                    sigs.k8s.io/kwok/cmd/kwok
training-operator        training-operator       github.com/kubeflow/training-operator/cmd/training-operator.v1
'
# What tests against an API server need, and what a node needs on top of it.
readonly api_tools='etcd kube-apiserver kube-controller-manager kube-scheduler kubectl'
readonly kind_tools="$api_tools kind kube-proxy kubelet kubeadm local-path-provisioner coredns crictl pause kube-router dra-test-driver"

# A binary is as new as what determines it.
stamp_of() { (cat "$here/tools/$1/"* && linker_flags "$1") | sha256sum | cut -d ' ' -f 1; }

find_go() {
  local go
  for go in "$(command -v go || true)" /usr/local/go/bin/go /usr/lib/go/bin/go; do
    [[ -x $go ]] && echo "$go" && return 0
  done
  skip "Go is needed to build Kubernetes, 1.21 or newer (it fetches the version it needs): https://go.dev/dl"
}

# What a release build of the tool would be told about itself: kubeadm and kubelet compare versions, helm checks kubeVersion.
linker_flags() {
  local minor=${kubernetes_version#v1.} package flags='-s -w'
  minor=${minor%%.*}
  case $1 in
    kubernetes)
      package=k8s.io/component-base/version
      flags+=" -X $package.gitVersion=$kubernetes_version -X $package.gitTreeState=clean"
      flags+=" -X $package.gitMajor=1 -X $package.gitMinor=$minor"
      ;;
    helm)
      flags+=" -X helm.sh/helm/v3/internal/version.version=$(pinned helm helm.sh/helm/v3)"
      for package in chartutil lint/rules; do
        package=helm.sh/helm/v3/pkg/$package
        flags+=" -X $package.k8sVersionMajor=1 -X $package.k8sVersionMinor=$minor"
      done
      ;;
  esac
  echo "$flags"
}

is_built() { [[ -x $bin/$1 && $(cat "$bin/.stamps/$1" 2>/dev/null) == "$2" ]]; }

build_tool() {
  local name=$1 folder package
  read -r folder package < <(awk -v name="$name" '$1 == name {print $2, $3}' <<<"$tool_table") || true
  [[ -n $package ]] || fail "no such tool: $name"
  is_built "$name" "$(stamp_of "$folder")" || locked "build-$name" compile_tool "$name" "$folder" "$package"
}

compile_tool() {
  local name=$1 folder=$2 package=$3 stamp go started=$SECONDS
  stamp=$(stamp_of "$folder")
  is_built "$name" "$stamp" && return 0 # By another run, while this one waited.
  go=$(find_go) || exit
  mkdir -p "$bin/.stamps"
  # A compiler that collects less of its garbage takes a fifth less of the processor, and more memory.
  (cd "$here/tools/$folder" &&
    GOGC=${GOGC:-400} CGO_ENABLED=0 GOFLAGS=-buildvcs=false nice "$go" build -trimpath -mod=readonly \
      -ldflags "$(linker_flags "$folder")" -o "$bin/$name.partial" "$package") >&2 || fail "$name does not build"
  mv "$bin/$name.partial" "$bin/$name"
  echo "$stamp" >"$bin/.stamps/$name"
  say "built $name in $((SECONDS - started)) s"
}

# build <api | kind | all | tool>...
build() {
  local what name names=()
  for what in "${@:-kind}"; do
    case $what in
      api) read -ra more <<<"$api_tools" ;;
      kind) read -ra more <<<"$kind_tools" ;;
      all) mapfile -t more < <(awk 'NF {print $1}' <<<"$tool_table") ;;
      *) more=("$what") ;;
    esac
    if [[ $what == api && -n ${KUBEBUILDER_ASSETS:-} ]]; then
      [[ -x $KUBEBUILDER_ASSETS/kube-apiserver && -x $KUBEBUILDER_ASSETS/etcd ]] ||
        fail "KUBEBUILDER_ASSETS holds no kube-apiserver and etcd: $KUBEBUILDER_ASSETS"
      continue
    fi
    names+=("${more[@]}")
  done
  for name in "${names[@]}"; do build_tool "$name"; done
}

# The folder that tests against an API server look into.
assets() { echo "${KUBEBUILDER_ASSETS:-$bin}"; }

# source <tool>: where the module lies that the tool is built from.
source_of() {
  local folder package go
  read -r folder package < <(awk -v name="$1" '$1 == name {print $2, $3}' <<<"$tool_table") || true
  [[ -n $folder ]] || fail "no such tool: $1"
  go=$(find_go) || exit
  (cd "$here/tools/$folder" && "$go" list -mod=readonly -f '{{.Module.Dir}}' "$package")
}
