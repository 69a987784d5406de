# Everything runs in .venv, which every target makes or refreshes by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: help demo test test-slow soak check fix bench bench-peers bench-quality bench-embed clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Tests run on two to four processes, each with a database server of its own.
PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile

# A stamp per extra: installing again only when the project file or the pins change.
$(VENV)/.installed-%: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[$*]'
	@touch $@

demo: $(VENV)/.installed-local,cli ## install what it needs and run the main job on real documents
	$(BIN)/brain demo $(ARGS)

test: $(VENV)/.installed-test ## install what they need and run the tests
	$(PYTEST) $(ARGS)

test-slow: $(VENV)/.installed-test ## the tests marked slow
	$(BIN)/python -m pytest -m slow $(ARGS)

soak: $(VENV)/.installed-test ## the tests marked soak
	$(BIN)/python -m pytest -m soak --timeout=3600 $(ARGS)

check: $(VENV)/.installed-dev ## lint, types, import rules, unused code, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vulture
	$(PYTEST) $(ARGS)

fix: $(VENV)/.installed-dev ## format, and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.installed-test,bench ## the benchmarks, with JSON reports in build/
	@mkdir -p build
	$(BIN)/python benchmarks/bench_search.py --parts 100000 --json > build/bench_search.json
	$(BIN)/python benchmarks/bench_engine.py --json > build/bench_engine.json
	$(BIN)/python benchmarks/bench_fused.py --json > build/bench_fused.json
	$(BIN)/python benchmarks/bench_helix.py --nodes 5000 --json > build/bench_helix.json
	$(BIN)/python benchmarks/bench_serve.py --json > build/bench_serve.json
	$(BIN)/python benchmarks/bench_processes.py --json > build/bench_processes.json
	$(BIN)/python benchmarks/bench_cortex.py --edges 1000000 --json > build/bench_cortex.json
	@cat build/bench_search.json build/bench_engine.json build/bench_fused.json build/bench_helix.json build/bench_serve.json build/bench_processes.json build/bench_cortex.json

PEERS := floor langchain llamaindex txtai

# A virtual environment for each peer; pins by name and version in its requirements.txt.
build/peers/%/.installed: benchmarks/peers/%/requirements.txt
	$(PYTHON) -m venv build/peers/$*/venv
	build/peers/$*/venv/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

bench-peers: $(VENV)/.installed-bench $(PEERS:%=build/peers/%/.installed) ## ours against other libraries: make bench-peers DATA="folder ..."
	$(BIN)/python benchmarks/bench_peers.py --data $(DATA) --json $(ARGS) > build/bench_peers.json
	@cat build/bench_peers.json

bench-quality: $(VENV)/.installed-bench ## nDCG on test collections in the BEIR layout: make bench-quality DATA="folder ..."
	$(BIN)/python benchmarks/bench_quality.py $(DATA) $(ARGS)

bench-embed: $(VENV)/.installed-bench,sentence-transformers ## what local embedders cost and are worth: DATA="folder ..." ARGS="--model folder"
	$(BIN)/python benchmarks/bench_embedders.py $(DATA) $(ARGS)

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
