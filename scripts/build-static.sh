#!/usr/bin/env bash
# Builds kbsync as one static file, with the grammars that are written in C in it, and checks what came out: it must need no
# loader and no library, and must run in an empty root as a user without a name. The Dockerfile runs this same script.
#
#   scripts/build-static.sh FILE
#
# The version and the commit come from git, as `kbsync version` shows them. Where VERSION or COMMIT is set and says something
# else than the checkout, the build fails: a label must not lie about what it stands on.
set -euo pipefail
out=$(realpath -m "${1:?usage: scripts/build-static.sh FILE}")
cd "$(dirname "$0")/.."

stamp=-buildvcs=true
git rev-parse HEAD >/dev/null 2>&1 || stamp=-buildvcs=false # an unpacked archive
mkdir -p "$(dirname "$out")"
# netgo and osusergo leave out what of the C library loads more at run time.
CGO_ENABLED=1 go build "$stamp" -tags netgo,osusergo -ldflags '-s -w -linkmode external -extldflags "-static"' -o "$out" ./cmd/kbsync

fail() { echo "build-static: $*" >&2; exit 1; }
headers=$(readelf -lW "$out")
dynamic=$(readelf -dW "$out")
case $headers in *INTERP*) fail "$out asks for a loader: it is not static" ;; esac
case $dynamic in *NEEDED*) fail "$out needs libraries: it is not static" ;; esac

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir "$root/data" && chmod 755 "$root" "$root/data"
cp "$out" "$root/kbsync"
cp cmd/kbsync/main.go "$root/data/"
cp "$(go env GOROOT)/lib/time/zoneinfo.zip" "$root/" # as in the image
printf '%s\n' 'sources: [{ fs: { root: . } }]' 'sync: { schedule: "CRON_TZ=Asia/Shanghai 0 3 * * *" }' >"$root/data/kbsync.yaml"
if chroot "$root" /kbsync version >/dev/null 2>&1; then # as root, with the right to it
  inside() { env -i PATH="$PATH" ZONEINFO=/zoneinfo.zip chroot --userspec=65532:65532 "$root" /kbsync "$@"; }
  at=/data
else
  inside() { env -i ZONEINFO="$root/zoneinfo.zip" "$out" "$@"; }
  at=$root/data
fi
version=$(inside version --format json)
case $version in *'"code":"tree-sitter"'*) ;; *) fail "no grammars in this build: $version" ;; esac
chunks=$(inside chunk --strategy code --format jsonl "$at/main.go")
case $chunks in *'func main()'*'"strategy":"code"'*) ;; *) fail "the code strategy did not cut main.go: $chunks" ;; esac
validated=$(inside validate -c "$at/kbsync.yaml") || fail "a schedule with a time zone is refused"
case $validated in *'local/multilingual-e5-small@'*) ;; *) fail "no model in this build: $validated" ;; esac

says() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" <<<"$version"; }
agrees() { # WHAT WANTED
  local have
  have=$(says "$1")
  case $2 in '' | unknown) return ;; esac
  [ -n "$have" ] && [ "$have" != "(devel)" ] || return 0
  case $have in "${2#v}"* | "v${2#v}"*) ;; *) fail "the checkout says $1 $have, the build was told $2" ;; esac
}
agrees version "${VERSION:-}"
agrees commit "${COMMIT:-}"
printf '%s: static, %s MB, version %s\n' "$out" "$(($(stat -c %s "$out") / 1000000))" "$(says version)"
