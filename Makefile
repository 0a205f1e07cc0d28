# LatsDB: what a developer types. `make help` lists it.

SHELL := /bin/bash
CARGO ?= cargo
DATA_DIR ?= ./latsdb-data

.DEFAULT_GOAL := help

.PHONY: help run cluster build test check fix bench lab-demo install-tools clean

help: ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

run: install-build-tools ## build and start one node on 127.0.0.1:3306
	$(CARGO) build --release --package latsdb
	exec target/release/latsdb serve --data-dir $(DATA_DIR)

cluster: install-build-tools ## build and start three nodes on this machine; Ctrl-C stops them
	$(CARGO) build --release --package latsdb
	exec tools/cluster

build: install-build-tools ## build the server, optimised
	$(CARGO) build --release --package latsdb

test: install-tools ## every test: crates, SQL files, clients, sysbench, crashes, abuse
	$(CARGO) xtask test

check: install-build-tools ## formatting, lints, layers, docs; changes nothing
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	$(CARGO) xtask tidy
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items --quiet

fix: install-build-tools ## format, and apply what clippy and tidy can repair by themselves
	$(CARGO) clippy --workspace --all-targets --fix --allow-dirty --allow-staged --quiet
	$(CARGO) fmt --all
	$(CARGO) xtask tidy --fix

bench: install-tools ## micro-benchmarks of the crates, then sysbench against the local MariaDB
	$(CARGO) bench --workspace
	$(CARGO) xtask bench

lab-demo: install-build-tools ## measure LatsDB (and MariaDB, if installed) for two minutes, with a report
	$(CARGO) build --release --package latsdb
	target/release/latsdb lab quick

install-tools: install-build-tools ## install what the tests need (Debian, Ubuntu) and say what
	@tools/install-tools test

.PHONY: install-build-tools
install-build-tools:
	@tools/install-tools build

clean: ## remove everything that was built
	$(CARGO) clean
	rm -rf results
