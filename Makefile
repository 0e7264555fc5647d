# Everything runs in .venv, made from the lock files; only Python 3.11 and pip are needed beforehand.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
FULL := $(VENV)/.installed
DEMO := $(VENV)/.installed-demo
# Modules are compiled when they are first imported, not all at once.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 pyproject.toml
# With --no-compile this would let every process compile all modules again.
unexport PYTHONDONTWRITEBYTECODE
# One thread a process for XLA and its LAPACK: see docs/decisions.md.
export NPROC ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

.PHONY: help venv demo test test-slow test-browser fuzz lint format bench mutants tables graph build docs lock clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

venv: $(FULL) ## make .venv from requirements.lock

$(BIN)/python:
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "geomndp needs Python 3.11 or later"'
	$(PYTHON) -m venv $(VENV)

# The demo needs fewer packages; both locks pin the same versions, so the full one only adds to it.
$(DEMO): requirements-demo.lock pyproject.toml | $(BIN)/python
	$(PIP) -r requirements-demo.lock
	$(PIP) --no-deps --editable .
	touch $@

$(FULL): requirements.lock pyproject.toml | $(BIN)/python
	$(PIP) -r requirements.lock
	$(PIP) --no-deps --editable .
	touch $(DEMO) $@

demo: $(DEMO) ## shipped models at work: a page of figures; STEPS=500 also trains a small model
	$(BIN)/geomndp demo $(if $(STEPS),--steps $(STEPS))

test: $(FULL) ## the fast tests, on two cores
	$(PYTEST)

# These compute more than they compile, so they get the compiler that users have.
test-slow: export XLA_FLAGS ?= --xla_cpu_multi_thread_eigen=false
test-slow: $(FULL) ## the slow tests only
	$(PYTEST) -m slow

# Debian has it as chromium-headless-shell or chromium; GEOMNDP_BROWSER=path names another.
test-browser: $(FULL) ## the playground in a real Chromium, where there is one
	$(BIN)/python -m pytest -p no:xdist -m browser tests/browser -rs

# CASE=type/seed/number runs one case again, as a finding names it.
fuzz: $(FULL) ## CASES=2000 PROCESSES=20 SEED=0 SECONDS=600: twisted calls, files and command lines
	$(BIN)/python -m fuzz --cases $(or $(CASES),2000) --processes $(or $(PROCESSES),20) \
	    --seed $(or $(SEED),0) --seconds $(or $(SECONDS),600) $(if $(CASE),--case $(CASE))

lint: $(FULL) ## ruff and pyright
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright

format: $(FULL) ## sort imports, fix what can be fixed, reformat
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(FULL) ## run every script of benchmarks/
	@for script in $(sort $(wildcard benchmarks/[!_]*.py)); do \
	    echo "== $$script"; $(BIN)/python $$script || exit 1; done

mutants: $(FULL) ## mutation testing of the numerical core; COUNT=60 mutants drawn with SEED=0
	$(BIN)/python tools/mutants.py --count $(or $(COUNT),60) --seed $(or $(SEED),0)

tables: $(FULL) ## write the tables of README and docs from the stored results
	$(BIN)/python tools/tables.py

graph: $(FULL) ## print the import graph of the layers, and count the files on three paths through the code
	$(BIN)/python tools/import_graph.py
	$(BIN)/python tools/walks.py

build: $(FULL) ## wheel and source distribution in dist/
	$(BIN)/python -m build --outdir dist .

docs: export NO_MKDOCS_2_WARNING = 1
docs: $(FULL) ## the documentation in site/, from what is installed: nothing is fetched
	$(BIN)/mkdocs build --strict
	@echo "wrote site/index.html"

# Pins already in a lock are kept where they still fit; delete a lock to take the newest of everything.
lock: export UV_CUSTOM_COMPILE_COMMAND = make lock
lock: | $(BIN)/python ## recompute the lock files after a change of dependencies
	@test -x $(BIN)/uv || $(PIP) uv
	$(COMPILE) --all-extras --output-file requirements.lock
	$(COMPILE) --extra app --extra plots --constraint requirements.lock --output-file requirements-demo.lock

clean: ## remove .venv, caches and built files
	rm -rf $(VENV) build dist site .pytest_cache .ruff_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
