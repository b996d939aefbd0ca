# Clusters: kind's, each with a name, a kubeconfig and a shared folder of its own.

readonly ready_seconds_max=180

name_of() { echo "${PACELINE_CLUSTER:-paceline}"; }
kubeconfig_of() { echo "$clusters/$1/kubeconfig"; }
shared_of() { echo "$clusters/$1/shared"; }

kube() { "$bin/kubectl" --kubeconfig "$(kubeconfig_of "$(name_of)")" "$@"; }

# up: creates the cluster; returns when what tests rely on runs, not only when nodes say Ready.
up() {
  local name image folder started=$SECONDS
  name=$(name_of)
  build kubectl kind
  use_docker
  image=$(node_image) || exit
  folder=$clusters/$name
  mkdir -p "$folder"
  mkdir -p -m 0777 "$(shared_of "$name")"
  chmod 0777 "$(shared_of "$name")"
  sed "s|hostPath: [^,]*|hostPath: $(shared_of "$name")|" "$repository/deploy/kind/three-nodes.yaml" >"$folder/kind.yaml"
  "$bin/kind" create cluster --name "$name" --image "$image" --config "$folder/kind.yaml" \
    --kubeconfig "$(kubeconfig_of "$name")" --wait "${ready_seconds_max}s" >"$folder/up.log" 2>&1 || {
    cat "$folder/up.log" >&2
    fail "kind cannot create $name"
  }
  routes
  ! is_composed || enforcing
  kube -n kube-system rollout status deployment/coredns --timeout="${ready_seconds_max}s" >&2
  kube -n local-path-storage rollout status deployment/local-path-provisioner --timeout="${ready_seconds_max}s" >&2
  say "$name is up after $((SECONDS - started)) s ($image)"
}

down() {
  local name
  name=$(name_of)
  [[ -d $clusters/$name ]] || return 0
  use_docker
  "$bin/kind" delete cluster --name "$name" --kubeconfig "$(kubeconfig_of "$name")" >&2
  rm -rf "${clusters:?}/$name"
}

# Returns when the composed nodes enforce NetworkPolicy.
enforcing() {
  kube -n kube-system rollout status daemonset/kube-router --timeout="${ready_seconds_max}s" >&2 && return 0
  kube -n kube-system logs daemonset/kube-router --tail=20 >&2 || true
  fail "kube-router does not run, its last words are above; the kernel must have ip_set and xt_set"
}

is_composed() { kube -n kube-system get configmap composed-node-image >/dev/null 2>&1; }

# Published node images bring a daemon that sets the routes between the nodes' pod networks; the composed one does not.
# A node that was stopped and started again needs them anew. What leaves for outside gets the node's address; pods see one
# another's own, or no policy could tell them apart.
routes() {
  local node other network address table pods leaving
  is_composed || return 0
  pods=$(kube -n kube-system get configmap composed-node-image -o 'jsonpath={.data.podSubnet}')
  table=$(kube get nodes -o 'jsonpath={range .items[*]}{.metadata.name} {.spec.podCIDR} {.status.addresses[?(@.type=="InternalIP")].address}{"\n"}{end}')
  for node in $("$bin/kind" get nodes --name "$(name_of)"); do
    [[ $(docker inspect --format '{{.State.Running}}' "$node") == true ]] || continue
    while read -r other network address; do
      [[ $other == "$node" ]] || docker exec "$node" ip route replace "$network" via "$address" </dev/null
    done <<<"$table"
    leaving="POSTROUTING -s $pods ! -d $pods -j MASQUERADE"
    docker exec "$node" sh -c "iptables -t nat -C $leaving 2>/dev/null || iptables -t nat -A $leaving"
  done
}

load() {
  use_docker
  "$bin/kind" load docker-image "$@" --name "$(name_of)" >&2
}

logs() {
  local folder=${1:-$cache/logs/$(name_of)}
  use_docker
  mkdir -p "$folder"
  "$bin/kind" export logs "$folder" --name "$(name_of)" >/dev/null 2>&1 || say "not all logs could be had"
  say "logs of $(name_of): $folder"
}

# env: lines for a shell to evaluate.
print_env() {
  local name
  name=$(name_of)
  echo "export KUBEBUILDER_ASSETS=$(assets)"
  echo "export PATH=$bin:\$PATH"
  [[ -f $(kubeconfig_of "$name") ]] || return 0
  use_docker
  [[ -z ${DOCKER_HOST:-} ]] || echo "export DOCKER_HOST=$DOCKER_HOST"
  echo "export PACELINE_CLUSTER=$name"
  echo "export PACELINE_CLUSTER_SHARED=$(shared_of "$name")"
  echo "export KUBECONFIG=$(kubeconfig_of "$name")"
}

# run <command...>: a cluster for the length of one command. Exports the logs if it fails; deletes the cluster whatever
# happens, unless PACELINE_CLUSTER_KEEP is set.
run() {
  export PACELINE_CLUSTER=${PACELINE_CLUSTER:-paceline-$$}
  hold_docker
  trap finish_run EXIT
  trap 'exit 130' INT TERM
  up
  eval "$(print_env)"
  "$@"
}

# In what a trap runs, `return` alone means the status from before the trap: functions say `return 0`.
finish_run() {
  local status=$?
  trap - EXIT
  trap '' INT TERM # Whoever is impatient sends them twice; a cluster would stay.
  ((status == 0 || status == skipped)) || logs || say "no logs of $(name_of)"
  if [[ -n ${PACELINE_CLUSTER_KEEP:-} ]]; then
    say "kept; eval \"\$(PACELINE_CLUSTER=$(name_of) tests/cluster/cluster env)\""
  else
    down || say "$(name_of) could not be deleted"
    stop_docker
  fi
  exit "$status"
}
