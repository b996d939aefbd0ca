# The image that a cluster's nodes run: the one that the pinned version of kind names, where it can be pulled, and else
# one composed here from the binaries, Debian packages and the files in kind's Go module. Two to three minutes, once.

readonly pull_seconds_max=600

# node_image: prints the image's name, having pulled or composed it.
node_image() {
  local published composed
  [[ -n ${PACELINE_NODE_IMAGE:-} ]] && echo "$PACELINE_NODE_IMAGE" && return 0
  composed=$(composed_image_name) || exit
  has_image "$composed" && echo "$composed" && return 0
  published=$(sed -n 's/^const Image = "\(.*\)"/\1/p' "$(kind_source)/pkg/apis/config/defaults/image.go")
  if has_image "$published" || timeout "$pull_seconds_max" docker pull --quiet "$published" >/dev/null 2>&1; then
    echo "$published"
    return 0
  fi
  say "cannot pull ${published%@*}; composing $composed"
  build kind
  locked node-image compose_node_image "$composed" >&2
  echo "$composed"
}

# A change of the recipe or of a version makes another image.
composed_image_name() {
  local recipe
  recipe=$(cat "$here"/node/* "$here"/tools/*/go.mod "$here"/tools/*/main.go | sha256sum)
  echo "local/kind-node:$kubernetes_version-${recipe:0:12}"
}

has_image() { docker image inspect "$1" >/dev/null 2>&1; }

# The unpacked Go module of kind: base image files, storage manifest, names of images.
kind_source() { (cd "$here/tools/kind" && "$(find_go)" mod download -json sigs.k8s.io/kind | sed -n 's/.*"Dir": "\(.*\)",/\1/p'); }

# BuildKit is a plugin of its own that dockerd from a distribution may not have.
docker_build() {
  DOCKER_BUILDKIT=0 docker build --quiet "$@" >"$cache/docker-build.log" 2>&1 || {
    tail -n 40 "$cache/docker-build.log" >&2
    fail "docker build $* failed"
  }
}

# The mirror that this machine's own apt uses.
debian_mirror() {
  cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
    grep -E '^(deb |URIs:)' | grep -oE 'https?://[^ ]*debian[^ ]*' | grep -v security | head -n 1 || true
}

# debian:12-slim: pulled, or else the same packages by debootstrap under the same name, so that every Dockerfile that
# says FROM debian:12-slim builds on it.
debian_image() {
  local root
  has_image debian:12-slim && return 0
  timeout "$pull_seconds_max" docker pull --quiet debian:12-slim >/dev/null 2>&1 && return 0
  command -v debootstrap >/dev/null || skip "debian:12-slim cannot be pulled, and there is no debootstrap (tools/setup --cluster)"
  root=$(mktemp -d "$cache/debian.XXXXXX")
  say "cannot pull debian:12-slim; making it with debootstrap"
  debootstrap --variant=minbase bookworm "$root" "$(debian_mirror)" >"$cache/debootstrap.log" 2>&1 || {
    tail -n 20 "$cache/debootstrap.log" >&2
    rm -rf "$root"
    fail "debootstrap failed; its log: $cache/debootstrap.log"
  }
  # Roots that this machine trusts besides Debian's: what builds in containers have to download from may be signed by them.
  mkdir -p "$root/usr/local/share/ca-certificates"
  cp -r /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/"
  rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,info,locale}/*
  tar -C "$root" --numeric-owner --create . | docker import - debian:12-slim >/dev/null
  rm -rf "$root"
}

compose_node_image() {
  local image=$1 source context started=$SECONDS
  has_image "$image" && return 0
  source=$(kind_source)
  context=$(mktemp -d "$cache/node-image.XXXXXX")
  trap "rm -rf '$context'" EXIT
  debian_image
  compose_base "$source" "$context"
  compose_preload "$source" "$context"
  compose_node "$source" "$context" "$image"
  say "composed $image in $((SECONDS - started)) s"
}

compose_base() {
  mkdir "$2/base"
  cp -r "$1/images/base/files" "$2/base/files"
  chmod -R u+w "$2/base/files"
  cp "$here/node/runc-within-bounds" "$2/base/"
  docker_build --build-arg DEBIAN=debian:12-slim --tag "local/kind-base:$kind_version" \
    --file "$here/node/base.Dockerfile" "$2/base"
}

# The names are those that kubeadm, containerd's configuration, and the manifests of storage and network will ask for.
compose_preload() {
  local image target images=()
  mkdir "$2/preload"
  cp "$bin"/{kube-apiserver,kube-controller-manager,kube-scheduler,kube-proxy,etcd,coredns,pause,local-path-provisioner,kube-router} \
    "$2/preload/"
  while read -r target image; do
    docker_build --build-arg DEBIAN=debian:12-slim --target "$target" --tag "$image" \
      --file "$here/node/preload.Dockerfile" "$2/preload"
    images+=("$image")
  done < <(
    echo "busybox $(storage_constant "$1" storageHelperImage)"
    echo "local-path-provisioner $(storage_constant "$1" storageProvisionerImage)"
    echo "kube-router $(sed -n 's/.* image: //p' "$here/node/default-cni.yaml")"
    echo "pause $(sed -n 's/.*sandbox_image = "\(.*\)"/\1/p' "$1/images/base/files/etc/containerd/config.toml")"
    "$bin/kubeadm" config images list --kubernetes-version "$kubernetes_version" 2>/dev/null |
      sed -E 's|^(.*/)?([^/:]+):.*$|\2 &|'
  )
  docker save "${images[@]}" --output "$2/preload.tar"
  rm -r "$2/preload"
}

storage_constant() { sed -n "s/^const $2 = \"\(.*\)\"/\1/p" "$1/pkg/build/nodeimage/const_storage.go"; }

compose_node() {
  local container
  mkdir -p "$2/node/bin"
  cp "$bin"/{kubeadm,kubelet,kubectl,crictl} "$2/node/bin/"
  cp "$here"/node/{default-cni.yaml,cni.conflist.template} "$2/node/"
  sed -n '/^const defaultStorageManifest = `/,/^`/p' "$1/pkg/build/nodeimage/const_storage.go" |
    sed -e '1d' -e '/^`$/d' \
      -e "s|\` + storageProvisionerImage + \`|$(storage_constant "$1" storageProvisionerImage)|" \
      -e "s|\` + storageHelperImage + \`|$(storage_constant "$1" storageHelperImage)|" >"$2/node/default-storage.yaml"
  docker_build --build-arg "BASE=local/kind-base:$kind_version" --build-arg "KUBERNETES_VERSION=$kubernetes_version" \
    --tag "$3-empty" --file "$here/node/node.Dockerfile" "$2/node"

  # The node's own containerd takes the images in; what it wrote is committed.
  container=$(docker run --detach --entrypoint=sleep --security-opt seccomp=unconfined "$3-empty" infinity)
  docker exec --interactive "$container" bash -euc '
    containerd >/tmp/containerd.log 2>&1 & pid=$!
    for attempt in $(seq 100); do ctr version >/dev/null 2>&1 && break; sleep 0.2; done
    ctr --namespace=k8s.io images import --label=io.cri-containerd.pinned=pinned --all-platforms --no-unpack --digests - \
      >/dev/null || { cat /tmp/containerd.log >&2; exit 1; }
    kill $pid; wait $pid || true
    rm -rf /run/containerd /tmp/*' <"$2/preload.tar"
  docker commit --change 'ENTRYPOINT [ "/usr/local/bin/entrypoint", "/sbin/init" ]' "$container" "$3" >/dev/null
  docker rm --force --volumes "$container" >/dev/null
  docker rmi "$3-empty" >/dev/null 2>&1 || true
}
