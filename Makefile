# Each target does all of its own set-up: a machine with Python >= 3.11, pip and make is enough.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: test check reproduce bench format clean

# One environment for every target; made again when the dependencies change.
$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[plot,report,postgres,bench,dask,dev]' --constraint constraints.txt
	touch $@

test: $(VENV)/.ready  ## all tests
	$(BIN)/python -m pytest -n auto --dist worksteal

check: $(VENV)/.ready  ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

reproduce: $(VENV)/.ready  ## the paper's experiments, the quick version; `driftopt reproduce` is the full one
	$(BIN)/driftopt reproduce --quick --out results/quick

bench: $(VENV)/.ready  ## ratios against named alternatives, measured side by side
	$(BIN)/python -m benchmarks

format: $(VENV)/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist results .pytest_cache .ruff_cache
