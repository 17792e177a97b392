#!/usr/bin/env bash
# Makes sure that the foreign tools are there with which tests read our shards: GNU tar, bsdtar and
# b3sum. Installs Debian's packages where it may, and says what to install where it may not.
set -euo pipefail
declare -A package=([tar]=tar [bsdtar]=libarchive-tools [b3sum]=b3sum)
missing=()
for tool in "${!package[@]}"; do
    command -v "$tool" >/dev/null || missing+=("${package[$tool]}")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || true
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
    echo "tests need these tools; install (names of Debian's packages): ${missing[*]}" >&2
    exit 1
fi
