#!/usr/bin/env bash
# Makes sure that the foreign tools are installed: GNU tar, bsdtar, zstd and b3sum, with which tests read our
# shards, a C compiler and libjpeg-turbo's headers, with which they compile an oracle for jpeg/, a C++
# compiler, with which they play a GPU (fixtures/cuda), openssl, with which they make certificates, git, which
# says what has changed.
# Installs Debian's packages as root, otherwise prints what to install.
set -euo pipefail
declare -A package=([zstd]=zstd [tar]=tar [bsdtar]=libarchive-tools [b3sum]=b3sum [cc]=gcc [g++]=g++ [openssl]=openssl [git]=git)
missing=()
for tool in "${!package[@]}"; do
    command -v "$tool" >/dev/null || missing+=("${package[$tool]}")
done
# A header is no command: ask the compiler, which knows where to look.
printf '#include <stdio.h>\n#include <jpeglib.h>\n' | cc -fsyntax-only -x c - 2>/dev/null ||
    missing+=(libc6-dev libjpeg-dev)
[ ${#missing[@]} -eq 0 ] && exit 0
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || true
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
    echo "tests need these tools; install (names of Debian's packages): ${missing[*]}" >&2
    exit 1
fi
