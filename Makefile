# Every command of the project. `make demo` and `make test` install what they need.
#
#   make demo    build, pack real photographs, verify the shards, read them back, shuffle, stop and resume
#   make test    all Rust tests, with the external tools that some of them need
#   make test-build  compile what `make test` runs
#   make ptx     run the tests of kernels on the PTX that NVIDIA's compiler makes of them; no GPU is needed
#   make python  build the wheel into a venv, check its types, run the Python tests
#   make wheel   build the wheel for manylinux_2_28: target/wheel
#   make clients read our shards with Ray, DALI, Energon, wids, SPDL, hfutils, open_clip, torchtitan, torchft and LeRobot; run `make python` first
#   make clusters  pack and train under Slurm, MPI and torchrun, with killed nodes; run `make python` first
#   make engines  the same under Ray, Dask, Spark and DLIO, which are downloaded: 1 GB; run `make python` first
#   make browser  test the pages of `pack view` in Chromium
#   make screenshots  make the pictures of docs/VIEW.md
#   make faults  what `make test` samples, whole: every fault at every system call of build, run, finalize and
#                quarantine, every power cut, all kills, schedules of larger rings, every character of Unicode
#   make explore run the batch queue, the fetcher and the map table under many thread schedules; `make test` runs a sample
#   make miri    run tests of formats, order and jpeg in an interpreter that finds undefined behavior; installs a nightly Rust
#   make check   lint, site, test, python and smoke
#   make lint    rustfmt, clippy, rustdoc, cargo-deny, the floor plan, packages, workflows
#   make features  clippy over the reader with each of its default features alone, and with none; part of `make lint`
#   make featureless  clippy over all crates that have features, without any
#   make site    build the docs site and check every link: target/site/index.html
#   make bench   measure our programs beside their rivals; append to bench/RESULTS.md (see bench/README.md)
#   make gpu     run the checks that need a GPU, in at most eight minutes; builds nothing (see bench/gpu/README.md)
#   make gpu-kit collect what `make gpu` needs in one folder: target/gpu-kit
#   make smoke   give the fuzz targets of our unsafe code the inputs of `make test`, with AddressSanitizer
#   make fuzz    the same for all fuzz targets; then run each for ten minutes: a random search
#   make busy    `make test` and `make python` beside eight busy processes of a higher priority: no test may fail for that
#   make idle    tests that judge real clocks; needs an idle machine, not part of `check`
#   make adapters  build and test adapters/ (candle, burn, tch); not part of `check`: ten minutes, 6 GB
#   make audit   check the dependencies for known security advisories (needs the network)
#   make package compile each crate from its package alone; RELEASING.md has the other targets for releases

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
CARGO ?= cargo
VENV := .venv
# What `browser`, `python`, `clients`, `clusters` and `engines` test: what a user installs from a checkout, with PROFILE=dist what is
# released, with PROFILE=dev the build of `make test`.
PROFILE ?= release
# The folder of a profile in target/.
folder = $(if $(filter dev,$1),debug,$1)
BUILT = $(or $(CARGO_TARGET_DIR),target)/$(call folder,$(PROFILE))
PYTHON := $(VENV)/bin/python
export TARFLUME_PYTHON ?= $(abspath $(PYTHON))
# Many tests begin a Python process. Images of containers often set this variable; then each of them parses PyTorch's sources
# again, which takes 2.4 seconds.
export PYTHONDONTWRITEBYTECODE :=

PYVENV := .venv-python
CLIENTSVENV := .venv-clients
CLUSTERSVENV := .venv-clusters
ENGINESVENV := .venv-engines
TORCHVENV := .venv-libtorch
DOCSVENV := .venv-docs
BROWSERVENV := .venv-browser
RELEASEVENV := .venv-release
KITVENV := .venv-kit
AXE := target/axe/node_modules/axe-core/axe.min.js
AZURITE := target/azurite/node_modules/.bin/azurite-blob

.PHONY: browser chromium screenshots demo environments pack slurm test test-build examples busy idle faults explore miri ptx python python-package python-tests wheel clients clusters engines check lint lint-rust lint-files fmt locks same-features clippy features featureless doc deny deny-changed house site smoke fuzz bench gpu gpu-kit adapters audit venv tools clean

# `make demo DEMO_PROFILE=dev` shares its build with `make test`.
comma := ,
DEMO_PROFILE ?= release
DEMO_PROGRAMS := -p tarflume-cli -p tarflume-fixtures -p tarflume-demo
DEMO_PACKAGES ?= $(DEMO_PROGRAMS) $(if $(filter dev,$(DEMO_PROFILE)),-p tarflume-python --features tarflume-python/with-tests$(comma)tarflume-fixtures/scheduled,--no-default-features)
demo:
	$(CARGO) build --profile $(DEMO_PROFILE) --locked $(DEMO_PACKAGES) --bin pack --bin tarflume-fixtures --bin resume
	bash demo/demo.sh $(call folder,$(DEMO_PROFILE))

# The program that other targets test. It has the features of the wheel, so that both share their crates. With PROFILE=dev
# both have the features that tests turn on, too, and share the crates of `make test`.
COMMAND = -p tarflume-cli -p tarflume-python
WITH_TESTS = $(if $(filter dev,$(PROFILE)),--features $1with-tests)
pack:
	$(CARGO) build --profile $(PROFILE) --locked $(COMMAND) $(call WITH_TESTS,tarflume-python/) --bin pack

# The Python package has no tests in Rust.
TESTED := --workspace --exclude tarflume-python

# What `make test` compiles, without what its tests need.
test-build:
	$(CARGO) test $(TESTED) --locked --lib --bins --tests --no-run

# Without the examples, which no test runs; clippy checks them.
test: venv tools
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
	    $(CARGO) nextest run $(TESTED) --locked --lib --bins --tests --no-fail-fast; \
	else \
	    $(CARGO) test $(TESTED) --locked --lib --bins --tests --no-fail-fast; \
	fi
	$(CARGO) test $(TESTED) --locked --doc
	@if [ "$${TARFLUME_NO_PTRACE:-}" = 1 ]; then \
	    echo "NOT RUN (TARFLUME_NO_PTRACE=1): tests that stop a command at a system call: faults, kills, interrupted commands"; \
	fi

# What no test runs: clippy and the compiler see it.
examples:
	$(CARGO) build --workspace --locked --examples

busy:
	bash tests/busy.sh $(MAKE) test python

# Verdicts on what limits a loader, from real clocks; the rules of the verdicts are tested by `make test`.
idle:
	$(CARGO) test $(TESTED) --locked --test reader -- --ignored --test-threads 1 idle_

# `make test` runs a fixed sample of these: faults and power cuts, kills, schedules of the ring of a device.
faults:
	TARFLUME_SWEEPS=whole $(CARGO) test $(TESTED) --locked --test commands -- --ignored --nocapture --test-threads 1 faults::every
	TARFLUME_SWEEPS=whole $(CARGO) test $(TESTED) --locked --test commands -- kill
	TARFLUME_SWEEPS=whole $(CARGO) test $(TESTED) --locked --lib -- by_the_expressions the_expressions_know file_is_an_error_of_the_file
	$(CARGO) test $(TESTED) --locked --lib -- --ignored every_schedule

# shuttle picks the schedule at each lock of the batch queue and the fetcher, and runs all schedules of the map table.
explore:
	TARFLUME_SWEEPS=whole $(CARGO) test $(TESTED) --locked --lib -- explored

# Miri interprets every access to memory. It maps no files, calls no C library and has few instructions of AVX-512: tests of
# these are ignored there, and others take fewer rounds. The kernels run with the features that are named here.
MIRI_RUST ?= nightly-2026-05-20
MIRI_FEATURES ?= $(if $(filter x86_64,$(shell uname -m)),+sse4.1$(comma)+avx2$(comma)+bmi1$(comma)+bmi2$(comma)+lzcnt$(comma)+movbe$(comma)+popcnt)
miri:
	rustup toolchain install $(MIRI_RUST) --profile minimal --component miri --component rust-src
	RUST_BACKTRACE=0 MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=2 RUSTFLAGS="$(if $(MIRI_FEATURES),-Ctarget-feature=$(MIRI_FEATURES))" \
	    $(CARGO) +$(MIRI_RUST) miri test --locked -p tarflume-formats -p tarflume-order -p tarflume-jpeg --lib

# The simulated CUDA that the tests in Rust build: CARGO_TARGET_TMPDIR is theirs.
TESTCUDA = $(abspath $(or $(CARGO_TARGET_DIR),target))/tmp/cuda

# The tests of kernels with the PTX that NVIDIA's compiler makes of them; it comes with the packages of `python`. Functions
# that are no entries are not in it. CI runs each entry in 20 orders of its threads.
PTX_TESTS ?= gpu::kernel
ptx: $(PYVENV)/ready
	mkdir -p target
	$(PYVENV)/bin/python python/tests/kernel_runs.py 90 target/kernels.ptx
	TARFLUME_PTX="$(abspath target/kernels.ptx)" $(CARGO) test $(TESTED) --locked --test reader -- $(PTX_TESTS) --skip sixteen_bits

python: python-package
	$(MAKE) python-tests

# Threads of PyTorch that wait for each other spin, which takes the time of the processes beside them.
python-tests clients clusters engines: export OMP_WAIT_POLICY ?= PASSIVE

# Tests import the installed wheel, as users do; `python-package` installs it. Each of two workers runs whole files.
python-tests:
	cd python && ../$(PYVENV)/bin/mypy --strict -p tarflume
	cd target && ../$(PYVENV)/bin/python -m mypy.stubtest tarflume._core --allowlist ../python/tests/stubtest-allowed.txt
	cd python/tests && TARFLUME_PACK="$(abspath $(BUILT))/pack" TARFLUME_CUDA="$(TESTCUDA)" TARFLUME_KIT_PYTHON="$(if $(wildcard $(KITVENV)/ready),$(abspath $(KITVENV))/bin/python)" "$(CURDIR)/$(PYVENV)/bin/python" -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder --durations=20 --ignore=clients --ignore=clusters --ignore=engines

# What a machine with a GPU has beside the kit: PyTorch, and a later Python than the tests, where there is one.
$(KITVENV)/ready: python/tests/requirements-torch.txt python/tests/requirements.txt
	prefix=$$(pyenv prefix 3.12 2>/dev/null) || prefix=; \
	for python in "$$prefix/bin/python3" python3.12 python3; do "$$python" -m venv --clear $(KITVENV) 2>/dev/null && break; done
	mkdir -p target
	cat python/tests/requirements.txt python/tests/requirements-torch.txt | grep -E '^(numpy|torch|torchvision)==' >target/kit.txt
	.ci/install $(KITVENV)/bin/python -r target/kit.txt
	touch $@

# The wheel, built and installed where tests import it.
python-package: $(PYVENV)/ready $(AZURITE) tools pack
	rm -rf target/wheels
	$(PYVENV)/bin/maturin build --quiet --profile $(PROFILE) --locked $(call WITH_TESTS) -m python/Cargo.toml -o target/wheels
	$(PYVENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --force-reinstall target/wheels/*.whl

# The wheel for releases: zig links it against an older glibc; auditwheel prints which one. For another architecture:
# `rustup target add aarch64-unknown-linux-gnu && make wheel WHEEL_TARGET=aarch64-unknown-linux-gnu`.
WHEEL_FOR ?= manylinux_2_28
WHEEL_TARGET ?=
wheel: $(PYVENV)/ready
	.ci/install $(PYVENV)/bin/python -r python/tests/requirements-wheel.txt
	rm -rf target/wheel
	PATH="$(abspath $(PYVENV))/bin:$$PATH" $(PYVENV)/bin/maturin build --quiet --profile dist --locked --zig \
	    $(if $(WHEEL_TARGET),--target $(WHEEL_TARGET)) --compatibility $(WHEEL_FOR) -m python/Cargo.toml -o target/wheel
	$(PYVENV)/bin/auditwheel show target/wheel/*.whl
	@echo "pip install $$(echo target/wheel/*.whl)"

# All that targets of CI install. CI does it beside its first builds.
environments: tools slurm chromium $(VENV)/ready $(RELEASEVENV)/ready $(DOCSVENV)/ready $(PYVENV)/ready $(CLUSTERSVENV)/ready \
    $(BROWSERVENV)/ready $(KITVENV)/ready $(AXE) $(AZURITE)

# Separate from `python`, because it downloads gigabytes. Its venv also sees the packages of that of `python`, and the wheel.
clients: $(CLIENTSVENV)/ready
	cd python/tests && TARFLUME_PACK="$(abspath $(BUILT))/pack" RAY_USAGE_STATS_ENABLED=0 \
	    "$(CURDIR)/$(CLIENTSVENV)/bin/python" -m pytest -q clients

$(CLIENTSVENV)/ready: $(PYVENV)/ready python/tests/clients/requirements.txt python/tests/clients/requirements-doors.txt
	python3 -m venv --clear $(CLIENTSVENV)
	$(PYVENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	    > "$$($(CLIENTSVENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/beneath.pth"
	$(CLIENTSVENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile \
	    -r python/tests/clients/requirements.txt
	$(CLIENTSVENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile --no-deps \
	    -r python/tests/clients/requirements-doors.txt
	touch $@

# Each suite is skipped with a reason where its launcher is missing.
clusters: $(CLUSTERSVENV)/ready slurm
	cd python/tests && TARFLUME_PACK="$(abspath $(BUILT))/pack" \
	    "$(CURDIR)/$(CLUSTERSVENV)/bin/python" -m pytest -q -rs --durations=20 clusters

# Separate from `clusters`, because these engines are large and start slowly.
engines: $(ENGINESVENV)/ready
	cd python/tests && TARFLUME_PACK="$(abspath $(BUILT))/pack" RAY_USAGE_STATS_ENABLED=0 \
	    "$(CURDIR)/$(ENGINESVENV)/bin/python" -m pytest -q -rs --durations=20 engines

slurm:
	@if ! command -v slurmctld >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    apt-get update -qq || true; \
	    apt-get install -y -qq --no-install-recommends slurm-wlm munge >/dev/null || echo "Slurm was not installed: its test is skipped"; \
	fi

# pip, because uv does not see the packages beneath.
$(CLUSTERSVENV)/ready $(ENGINESVENV)/ready: .venv-%/ready: $(PYVENV)/ready python/tests/%/requirements.txt
	python3 -m venv --clear .venv-$*
	$(PYVENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	    > "$$(.venv-$*/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/beneath.pth"
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile \
	    -r python/tests/$*/requirements.txt
	if [ -e python/tests/$*/requirements-dlio.txt ]; then .venv-$*/bin/python -m pip install --quiet --disable-pip-version-check \
	    --no-cache-dir --no-compile --no-deps -r python/tests/$*/requirements-dlio.txt; fi
	touch $@

# Pages of `pack view` in the system's Chromium, with the program that `make python` and `make demo` build.
BROWSER := TARFLUME_PACK="$(abspath $(BUILT))/pack" TARFLUME_AXE="$(abspath $(AXE))"
browser: $(BROWSERVENV)/ready $(AXE) chromium pack
	cd tests/browser && $(BROWSER) "$(CURDIR)/$(BROWSERVENV)/bin/python" -m pytest -q -p no:cacheprovider

chromium:
	@if ! command -v chromium >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    apt-get update -qq || true; \
	    apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; \
	fi

screenshots: $(BROWSERVENV)/ready pack
	$(BROWSERVENV)/bin/python docs/screenshots.py "$(abspath $(BUILT))/pack"

$(AXE):
	npm install --no-audit --no-fund --silent --prefix target/axe axe-core@4.14.1

$(BROWSERVENV)/ready: tests/browser/requirements.txt
	python3 -m venv --clear $(BROWSERVENV)
	.ci/install $(BROWSERVENV)/bin/python -r tests/browser/requirements.txt
	touch $@

# A server of Azure's Blob service, for test_remote.py. Without Node, its test is skipped.
$(AZURITE):
	npm install --no-audit --no-fund --silent --prefix target/azurite azurite@3.35.0 \
	    || echo "azurite was not installed: the test with Azure is skipped"

# --no-deps: see requirements-sources.txt.
$(PYVENV)/ready: python/tests/requirements.txt python/tests/requirements-torch.txt python/tests/requirements-sources.txt
	python3 -m venv --clear $(PYVENV)
	.ci/install $(PYVENV)/bin/python \
	    -r python/tests/requirements.txt -r python/tests/requirements-torch.txt
	.ci/install $(PYVENV)/bin/python --no-deps \
	    -r python/tests/requirements-sources.txt
	touch $@

check: lint site test python smoke

lint: lint-rust workflows

# What needs no Python environment.
lint-rust: lint-files clippy features doc house

# What compiles nothing.
lint-files: fmt locks same-features deny-changed package-list msrv

fmt:
	$(CARGO) fmt --all --check

# A workspace beside the main one keeps its own lock file, which must change with the dependencies of the crates it uses.
locks:
	@for lock in $$(git ls-files '*Cargo.lock'); do \
	    $(CARGO) update --workspace --locked --quiet --manifest-path "$$(dirname $$lock)/Cargo.toml" || exit 1; done

# `cargo install --path command` and `pip install python/` share the build of each crate: the command needs no crate and no
# features that the Python package does not have, too.
NEEDS = $(CARGO) tree --locked -e no-dev --prefix none --no-dedupe --format '{p} {f}' -p
same-features:
	@command=$$($(NEEDS) tarflume-cli | sort -u); python=$$($(NEEDS) tarflume-python | sort -u); \
	other=$$(comm -23 <(echo "$$command") <(echo "$$python")); \
	if [ -n "$$other" ]; then \
	    printf 'The command compiles these crates and features, the Python package others. Make command/Cargo.toml and python/Cargo.toml agree:\n%s\n' "$$other" >&2; exit 1; fi
	@python3 .ci/shared.py

clippy:
	$(CARGO) clippy --workspace --locked --all-targets -- -D warnings
	$(CARGO) clippy $(FEATURED) --locked -- -D warnings # without what others turn on

# The crates that have features.
FEATURED := $(addprefix -p tarflume-,dataset device base shards sources export verify packer inspect tokens) -p tarflume

# Formats without features, the reader with each of its default features alone and with none: what a user's Cargo.toml may have. One target folder for
# all: cargo keeps a crate with different features side by side, and takes what `clippy` has compiled alike. A run
# compiles again only the dependencies whose features its crates alone decide.
FEATURES := --locked --no-default-features
featureless:
	$(CARGO) clippy $(FEATURES) $(FEATURED) -p tarflume-formats -p tarflume-image -- -D warnings

features:
	$(CARGO) clippy $(FEATURES) -p tarflume-formats -- -D warnings
	$(CARGO) clippy $(FEATURES) -p tarflume -- -D warnings
	@for feature in bmp gif png tiff webp zstd; do \
	    $(CARGO) clippy $(FEATURES) -p tarflume --features $$feature -- -D warnings || exit 1; done

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --locked --no-deps

# What cargo-deny reads decides what it says. `.ci/deny.passed` is the digest of the files that passed it: where they are
# the same, it is not run again, because a machine without it compiles for two minutes.
DENY_READS = git ls-files -zco --exclude-standard '*Cargo.toml' '*Cargo.lock' deny.toml | xargs -0 sha256sum | sha256sum
deny-changed:
	@if [ "$$($(DENY_READS))" = "$$(cat .ci/deny.passed)" ]; \
	then echo "cargo-deny passed these manifests, lock files and deny.toml: .ci/deny.passed"; \
	else $(MAKE) --no-print-directory deny; fi

deny:
	@command -v cargo-deny >/dev/null || $(CARGO) install --quiet --locked --debug cargo-deny
	$(CARGO) deny --locked --all-features check licenses bans sources
	@$(DENY_READS) >.ci/deny.passed

house:
	$(CARGO) test $(TESTED) --locked --test house -- --quiet # `make test` uses the same build

# Pages load nothing from the network. A warning, such as a broken link, is an error.
site: $(DOCSVENV)/ready
	$(DOCSVENV)/bin/mkdocs build --strict --clean
	@echo target/site/index.html

$(DOCSVENV)/ready: docs/requirements.txt
	python3 -m venv --clear $(DOCSVENV)
	.ci/install $(DOCSVENV)/bin/python -r docs/requirements.txt
	touch $@

audit:
	$(CARGO) deny check advisories

# The same inputs in every run. `make test` gives them to all targets, with checked arithmetic. A sanitizer takes a build of
# its own and finds what only unsafe code can do, so this one compiles the crates that have some and that parse.
smoke:
	bash fuzz/run.sh replay unsafe

fuzz:
	bash fuzz/run.sh replay
	bash fuzz/run.sh 600

# For releases; RELEASING.md lists the steps. `make lint` runs those that compile nothing.
.PHONY: package package-list msrv semver workflows

package:
	CARGO="$(CARGO)" python3 release/packages.py --verify

# Checks manifests and the file lists of the packages, without compiling.
package-list:
	CARGO="$(CARGO)" python3 release/packages.py

msrv:
	CARGO="$(CARGO)" python3 release/msrv.py

# Compares the public items with those of the last release, in git. See RELEASING.md.
BASELINE ?= $(shell git describe --tags --match 'v[0-9]*' --abbrev=0 HEAD^ 2>/dev/null)
semver:
	@if [ -z "$(BASELINE)" ]; then echo "no earlier release is tagged: nothing to compare with"; exit 0; fi; \
	command -v cargo-semver-checks >/dev/null || $(CARGO) install --locked cargo-semver-checks; \
	$(CARGO) semver-checks --workspace --default-features --baseline-rev "$(BASELINE)"; \
	$(CARGO) semver-checks -p tarflume --only-explicit-features --features cuda,nvtx --baseline-rev "$(BASELINE)"

# Workflows run on GitHub only; actionlint and ShellCheck check them here, and the action and the hooks.
workflows: $(RELEASEVENV)/ready
	PATH="$(abspath $(RELEASEVENV))/bin:$$PATH" $(RELEASEVENV)/bin/actionlint -color=false
	$(RELEASEVENV)/bin/check-jsonschema --builtin-schema vendor.github-actions action.yml
	$(RELEASEVENV)/bin/pre-commit validate-manifest .pre-commit-hooks.yaml
	$(RELEASEVENV)/bin/shellcheck release/action/verify.sh

$(RELEASEVENV)/ready: release/requirements.txt
	python3 -m venv --clear $(RELEASEVENV)
	.ci/install $(RELEASEVENV)/bin/python -r release/requirements.txt
	touch $@

bench:
	python3 bench/pack/run.py --append
	python3 bench/scan/run.py --append
	python3 bench/open/run.py --append
	python3 bench/read/run.py --append
	python3 bench/scale/run.py --append
	python3 bench/python/run.py --append
	python3 bench/order/run.py --append
	python3 bench/jpeg/run.py --append

# Not part of `check`: candle, burn and libtorch take ten minutes and 6 GB. candle's CUDA is built with a stub of
# nvcc and runs on the fake driver; tch links the libtorch of PyTorch's wheel and runs on the CPU.
TORCH := PATH="$(abspath $(TORCHVENV))/bin:$$PATH" VIRTUAL_ENV="$(abspath $(TORCHVENV))" LIBTORCH_USE_PYTORCH=1
adapters: $(TORCHVENV)/ready
	cd adapters && $(CARGO) fmt --all --check
	cd adapters && $(CARGO) clippy --workspace --locked --all-targets -- -D warnings
	cd adapters && $(CARGO) test --workspace --locked
	cd adapters && RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --locked --no-deps
	cd adapters && $(CARGO) deny --locked --config ../deny.toml --target x86_64-unknown-linux-gnu check licenses bans sources
	bash adapters/candle/simulated/run.sh "$(or $(CARGO_TARGET_DIR),adapters/target)/simulated"
	cd adapters/tch && $(CARGO) fmt --check
	cd adapters/tch && $(TORCH) $(CARGO) clippy --locked --all-features --all-targets -- -D warnings
	cd adapters/tch && $(TORCH) LD_LIBRARY_PATH="$$(echo "$(abspath $(TORCHVENV))"/lib/python3*/site-packages/torch/lib)" \
	    $(CARGO) test --locked --all-features

$(TORCHVENV)/ready: Makefile
	python3 -m venv --clear $(TORCHVENV)
	.ci/install $(TORCHVENV)/bin/python torch==2.13.0 numpy
	touch $@

GPU_KIT := target/gpu-kit
GPU_PYTHON ?= python3
# A folder of JPEGs for the kit; default: the bundled ones.
PHOTOS ?=

gpu:
	@$(GPU_PYTHON) bench/gpu/run.py --kit $(GPU_KIT) --results bench/results/gpu

# Of the wheel for releases, because the other machine may have an older glibc.
gpu-kit: wheel
	bash bench/gpu/kit.sh $(GPU_KIT) target/wheel/*.whl $(or $(PHOTOS),fixtures/photos) $(PYVENV)/bin/python

# Tests read our shards with Python's webdataset.
venv: $(VENV)/ready
$(VENV)/ready: tests/requirements.txt
	python3 -m venv --clear $(VENV)
	.ci/install $(PYTHON) -r tests/requirements.txt
	touch $@

# Tests read our shards with GNU tar and bsdtar, and compare jpeg/ with libjpeg-turbo.
tools:
	bash tests/tools.sh

clean:
	$(CARGO) clean
	rm -rf $(BROWSERVENV) $(VENV) $(PYVENV) $(CLIENTSVENV) $(CLUSTERSVENV) $(ENGINESVENV) $(TORCHVENV) $(DOCSVENV) adapters/target adapters/tch/target
	rm -rf $(RELEASEVENV) .venv-uv
