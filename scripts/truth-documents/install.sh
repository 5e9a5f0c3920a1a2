#!/usr/bin/env bash
# Installs what make.py needs, on Debian: a browser, fonts for Chinese, fonts for Latin text. Does nothing where they are there.
set -euo pipefail

packages=(chromium fonts-noto-cjk fonts-liberation)
for p in "${packages[@]}"; do
  if ! dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed'; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"
    break
  fi
done
