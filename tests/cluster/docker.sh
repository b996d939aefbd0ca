# A Docker daemon that can run privileged containers: the one that is running, or else one of our own, started by hand
# (no systemd needed) with everything it writes inside the cache folder.

private_docker() { [[ ${DOCKER_HOST:-} == "unix://$docker_folder/docker.sock" ]]; }

# As long as this process lives, nobody stops our own daemon under it.
hold_docker() {
  mkdir -p "$cache"
  exec 9>>"$cache/docker-users.lock"
  flock --shared 9
}

use_docker() {
  hold_docker
  if command -v docker >/dev/null && docker info >/dev/null 2>&1; then return 0; fi
  command -v docker >/dev/null && command -v dockerd >/dev/null && command -v containerd >/dev/null ||
    skip "no Docker daemon answers, and there is no dockerd to start (tools/setup --cluster installs one)"
  ((EUID == 0)) || skip "no Docker daemon answers, and starting one takes root"
  export DOCKER_HOST=unix://$docker_folder/docker.sock
  docker info >/dev/null 2>&1 || locked dockerd start_docker
}

# wait_for <seconds> <command...>
wait_for() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < deadline)) || return 1
    sleep 0.2
  done
}

start_docker() {
  docker info >/dev/null 2>&1 && return 0
  mkdir -p "$docker_folder"/{data,exec,containerd/root,containerd/state}
  # The daemon keeps running when the checkout that started it is gone.
  install -m 0755 "$here/node/runc-within-bounds" "$docker_folder/runc-within-bounds"
  cat >"$docker_folder/containerd.toml" <<TOML
version = 2
root = "$docker_folder/containerd/root"
state = "$docker_folder/containerd/state"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
  address = "$docker_folder/containerd.sock"
TOML
  setsid containerd --config "$docker_folder/containerd.toml" \
    >"$docker_folder/containerd.log" 2>&1 </dev/null 9>&- &
  echo $! >"$docker_folder/containerd.pid"
  wait_for 30 test -S "$docker_folder/containerd.sock" || fail_with_log containerd
  # --containerd: without it dockerd would take another containerd's socket, should one lie in its usual place.
  setsid "$(command -v dockerd)" --containerd "$docker_folder/containerd.sock" \
    --data-root "$docker_folder/data" --exec-root "$docker_folder/exec" --pidfile "$docker_folder/dockerd.pid" \
    --host "unix://$docker_folder/docker.sock" \
    --add-runtime "within-bounds=$docker_folder/runc-within-bounds" --default-runtime within-bounds \
    --storage-driver overlay2 --exec-opt native.cgroupdriver=cgroupfs \
    --bip 172.31.0.1/24 --default-address-pool base=172.30.0.0/16,size=24 \
    >"$docker_folder/dockerd.log" 2>&1 </dev/null 9>&- &
  wait_for 60 docker info || fail_with_log dockerd
  say "started a Docker daemon ($docker_folder)"
}

fail_with_log() {
  tail -n 20 "$docker_folder/$1.log" >&2
  fail "$1 does not start; its log: $docker_folder/$1.log"
}

# Stops our own daemon, if nobody uses it any more: no container runs, and nobody else holds it. Images stay on disk; the
# next start finds them.
stop_docker() {
  private_docker || return 0
  hold_docker
  flock --nonblock --exclusive 9 || return 0
  docker info >/dev/null 2>&1 || return 0
  [[ -z $(docker ps --quiet) ]] || return 0
  stop_process "$docker_folder/dockerd.pid"
  stop_process "$docker_folder/containerd.pid"
}

stop_process() {
  local pid
  pid=$(cat "$1" 2>/dev/null) || return 0
  kill "$pid" 2>/dev/null || true
  wait_for 30 bash -c "! kill -0 $pid" || say "process $pid ($1) does not stop"
  rm -f "$1"
}
