# The one rule book. `make demo` and `make test` do all the set-up they need.
#
#   make demo    builds, packs real photographs, verifies them, shows what a reader sees, and how fast
#   make test    every test, with the foreign tools that some of them need
#   make check   everything that is a rule: lint + test + a smoke of the fuzzers
#   make lint    rustfmt, clippy, docs, dependencies, the arrows of the house
#   make bench   our programs beside their rivals; writes to bench/RESULTS.md (see bench/README.md)
#   make fuzz    ten minutes of each fuzz target
#   make audit   known security advisories of the dependencies (needs the network)

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
CARGO ?= cargo
VENV := .venv
PYTHON := $(VENV)/bin/python
export TARFLUME_PYTHON ?= $(abspath $(PYTHON))

.PHONY: demo test check lint fmt clippy doc deny house smoke fuzz bench audit venv tools clean

demo:
	$(CARGO) build --release --locked -p tarflume-packer -p tarflume-fixtures
	bash fixtures/demo.sh

test: venv tools
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
	    $(CARGO) nextest run --workspace --locked --no-fail-fast; \
	else \
	    $(CARGO) test --workspace --locked --all-targets --no-fail-fast; \
	fi
	$(CARGO) test --workspace --locked --doc

check: lint test smoke

lint: fmt clippy doc deny house

fmt:
	$(CARGO) fmt --all --check

clippy:
	$(CARGO) clippy --workspace --locked --all-targets -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --locked --no-deps

deny:
	@command -v cargo-deny >/dev/null || $(CARGO) install --locked cargo-deny
	$(CARGO) deny --locked --all-features check licenses bans sources

house:
	$(CARGO) test --locked -p tarflume-packer --test house -- --quiet

audit:
	$(CARGO) deny check advisories

smoke:
	@command -v cargo-fuzz >/dev/null || $(CARGO) install --locked cargo-fuzz
	bash fuzz/run.sh 10

fuzz:
	@command -v cargo-fuzz >/dev/null || $(CARGO) install --locked cargo-fuzz
	bash fuzz/run.sh 600

bench:
	python3 bench/pack/run.py --append
	python3 bench/scan/run.py --append
	python3 bench/open/run.py --append
	python3 bench/read/run.py --append
	python3 bench/scale/run.py --append
	python3 bench/order/run.py --append
	python3 bench/jpeg/run.py --append

# Python webdataset reads what we wrote, in tests.
venv: $(VENV)/ready
$(VENV)/ready: tests/requirements.txt
	python3 -m venv --clear $(VENV)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	touch $@

# GNU tar and bsdtar read it, too; libjpeg-turbo is the oracle of jpeg/.
tools:
	bash tests/tools.sh

clean:
	$(CARGO) clean
	rm -rf $(VENV)
