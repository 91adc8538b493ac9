# Each target sets up what it needs, then does its work. A second run takes less than a second to set up.
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help setup demo check quick test faults bench figures lock

VENV := .venv
PY := $(VENV)/bin/python
# Of the tests; each starts a Kafka, ZooKeeper and Redis of its own. TEST_ARGS="-n 0 ..." runs them in one.
PROCESSES := 2
GATES := tests/test_imports.py tests/test_layout.py tests/test_docs.py
QUICK := tests/mars tests/sql tests/mapper tests/reducer tests/refusals $(GATES)
NO_SERVICE := not services and not e2e and not faults and not laws
LOCKS := requirements.lock requirements-test.lock
UV := $(shell command -v uv 2>/dev/null)
# The first interpreter that is new enough; empty if there is none.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
    $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v $$p && break; done)

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 16

setup: $(VENV)/stamp-project $(VENV)/stamp-kernels ## all that a start needs; afterwards no start needs the network
	@$(PY) -m api.instance.services

demo: setup ## exact live results from nothing (DEMO_ARGS="--file x.csv" for your own data)
	@$(VENV)/bin/mars demo $(DEMO_ARGS)

check: setup ## style, types, imports, and documents against code; no service
	@echo "Style, by ruff"
	@$(VENV)/bin/ruff check .
	@echo "Types of all packages, by mypy"
	@$(PY) -m mypy
	@echo "Import contracts, lengths, the layout, and documents against code, by pytest"
	@$(PY) -m pytest -q -p no:xdist $(GATES)

quick: setup ## the tests without services and without the slow ones, in less than a minute on two cores
	@$(PY) -m pytest -q -n $(PROCESSES) -m "$(NO_SERVICE) and not slow" $(QUICK) $(TEST_ARGS)

test: setup ## the tests (TEST_ARGS="-k name" for some of them)
	@$(PY) -m pytest -n $(PROCESSES) $(TEST_ARGS)

faults: setup ## ten minutes of faults on real processes, or more (HOURS=2, FAULTS_ARGS)
	@$(PY) -m tests.nemesis $(if $(HOURS),--hours $(HOURS)) $(FAULTS_ARGS)

bench: setup ## tuples per second of a whole Mars (BENCH_ARGS)
	@$(PY) -m benchmarks.throughput $(BENCH_ARGS)

figures: setup ## the figures of docs/benchmarks.md anew, without the long runs, in half an hour
	@$(PY) -m benchmarks.document --measure

lock: ## writes the lock files anew from requirements*.in (needs uv)
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	    --no-annotate requirements.in -o requirements.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	    --no-annotate -c requirements.lock requirements-test.in -o requirements-test.lock

$(VENV)/stamp-venv:
	@test -n "$(PYTHON)" || { echo "Mars needs Python 3.11 or newer: apt install python3 python3-venv"; exit 4; }
ifneq ($(UV),)
	@uv venv -q --allow-existing --python "$(PYTHON)" $(VENV)
else
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); \
	    echo "Python's venv module is incomplete. Fix it with: apt install python3-venv"; exit 4; }
endif
	@touch $@

$(VENV)/stamp-lock: $(VENV)/stamp-venv $(LOCKS)
	@echo "Installing $$(grep -c '^[a-z]' requirements.lock) locked packages into $(VENV), 1.5 GB unpacked."
	@echo "PySpark alone is an archive of 450 MB, and is silent while it is unpacked: some minutes at worst."
ifneq ($(UV),)
	@uv pip install --python $(PY) --require-hashes $(LOCKS:%=-r %)
else
	@$(PY) -m pip install --disable-pip-version-check --require-hashes $(LOCKS:%=-r %)
endif
	@touch $@

$(VENV)/stamp-project: $(VENV)/stamp-lock pyproject.toml requirements.in
ifneq ($(UV),)
	@uv pip install -q --python $(PY) --no-deps --config-setting editable_mode=compat -e .
else
	@$(PY) -m pip install -q --disable-pip-version-check --no-deps --config-settings editable_mode=compat -e .
endif
	@touch $@

# Compiled once here, so that no start waits for the compiler; again if the user's cache was emptied.
KERNELS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/mars/kernels
ifeq ($(wildcard $(KERNELS)),)
$(shell rm -f $(VENV)/stamp-kernels)
endif
$(VENV)/stamp-kernels: $(VENV)/stamp-project $(wildcard mapper/*.py mapper/*/*.py mars/*.py mars/*/*.py mars/*/*/*.py)
	@if $(PY) -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("mapper.warm") is None)'; \
	    then $(PY) -m mapper.warm; fi
	@touch $@
