# Each target does all of its own set-up: a machine with Python >= 3.11, pip and make is enough.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Modules are compiled once, whatever images of containers say: each process of the tests would do it again.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help test check lint types docs docs-serve dist reproduce bench format clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

# One environment for every target, made again when the dependencies change: first what the paper's experiments
# need, which is half of it and all that `make reproduce` waits for, then the rest.
$(VENV)/.reproduces: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[report]' --constraint constraints.txt
	touch $@

$(VENV)/.ready: $(VENV)/.reproduces
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[plot,report,postgres,serve,bench,dask,submitit,fsspec,docs,dev,mcp]' --constraint constraints.txt
	touch $@

test: $(VENV)/.ready  ## every test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

check: lint types  ## lint, format and types

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready
	$(BIN)/pyright

docs: $(VENV)/.ready  ## the documentation site, into site/; broken links, missing docstrings and hard prose fail
	$(BIN)/python docs/hooks/prose.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	$(BIN)/python docs/hooks/check_site.py site

docs-serve: $(VENV)/.ready  ## the site at http://127.0.0.1:8000, made again when a page changes
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve

dist: $(VENV)/.ready  ## wheel and sdist, each installed and tried in an environment of its own
	rm -rf dist
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m build --outdir dist
	$(BIN)/python tests/packaging/try_archives.py dist

reproduce: $(VENV)/.reproduces  ## the paper's experiments, the quick version; `driftopt reproduce` is the full one
	$(BIN)/driftopt reproduce --quick --out results/quick

bench: $(VENV)/.ready  ## ratios against named alternatives, measured side by side
	$(BIN)/python -m benchmarks

format: $(VENV)/.ready  ## put lint and format right
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove everything that was made, but for results/, which may have taken hours
	rm -rf $(VENV) build dist site .pytest_cache .ruff_cache
