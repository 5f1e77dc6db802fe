# Every gate and every test is one word here. Each target first makes sure that .venv holds what the lock files say;
# that needs Python 3.11 or newer and make, nothing else. uv is used where it is there, because it is faster.
#
#   make check      format, lint, types, import arrows, tidy rules     (make -j2 -O check runs two at a time)
#   make test       every test floor; what is skipped is listed with its reason
#   make demo       a whole wave in seconds, nothing real is touched
#   make simulate   SEEDS=500 BASE=1: that many whole histories with faults, from that seed on
#   make bench      the speed of the whole program on this machine: steps, latency, idling, restart (three minutes)
#   make bench-store, bench-rehearsal, bench-discovery, bench-csv, bench-workers, bench-beside
#                   that of one part; the last line of each is one JSON object
#   make bench-smoke  all of them in a small size, to see that they run
#   make docs       write the generated pages anew: states, commands, codes, settings
#   make format     rewrite the code into its one format
#   make freeze     record new migrations as frozen
#   make lock       resolve the lock files anew; LOCK_FLAGS=--upgrade moves to the newest versions (needs uv)

PYTHON ?= python3
SEEDS ?= 200
BASE ?= 1
JOBS ?= 2
WORKERS ?= auto
LOCK_FLAGS ?=
DEMO ?=

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate $(LOCK_FLAGS)

# A machine behind a proxy of its own has the proxy's certificate in the system's store, where pip looks as well.
export UV_SYSTEM_CERTS := 1

.PHONY: demo check format-check lint mypy pyright imports tidy test simulate bench bench-store bench-rehearsal bench-discovery \
  bench-csv bench-workers bench-beside bench-smoke docs format freeze lock clean

check: format-check lint mypy pyright imports tidy

format-check: $(READY)
	@$(BIN)/ruff format --check --quiet --diff .

lint: $(READY)
	@$(BIN)/ruff check --quiet .

mypy: $(READY)
	@$(BIN)/mypy --no-error-summary

pyright: $(READY)
	@out=$$($(BIN)/pyright --warnings 2>&1) || { echo "$$out"; exit 1; }

imports: $(READY)
	@out=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$out"; exit 1; }

tidy: $(READY)
	@$(BIN)/python -m pytest tests/tidy -q -rs

demo: $(READY)
	@$(BIN)/tminus demo $(DEMO)

test: $(READY)
	@$(BIN)/python -m pytest -q -rs -n $(WORKERS)

simulate: $(READY)
	@$(BIN)/python -m tminus.testing.simulate --seeds $(SEEDS) --base $(BASE) --jobs $(JOBS)

bench: $(READY)
	@$(BIN)/python bench/engine.py

bench-store: $(READY)
	@$(BIN)/python bench/store.py

bench-rehearsal: $(READY)
	@$(BIN)/python bench/rehearsal.py

bench-discovery: $(READY)
	@$(BIN)/python bench/discovery.py

bench-csv: $(READY)
	@$(BIN)/python bench/csv_source.py

bench-workers: $(READY)
	@$(BIN)/python bench/workers.py

bench-beside: $(READY)
	@$(BIN)/python bench/beside.py

bench-smoke: $(READY)
	@set -e; for words in "engine --smoke" "store --smoke" "discovery --smoke" "rehearsal --members 40 --runs 1" \
	  "csv_source --rows 500 --large 5000" "workers --seconds 0.1" "beside --smoke"; do \
	  set -- $$words; name=$$1; shift; out=$$($(BIN)/python bench/$$name.py "$$@"); \
	  echo "bench/$$name.py: $$(echo "$$out" | tail -n 1)"; done

docs: $(READY)
	@$(BIN)/python -m tminus.testing.states_page docs/states.md
	@$(BIN)/python -m tminus.cli.pages docs/reference

format: $(READY)
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

freeze: $(READY)
	@$(BIN)/python -m tests.tidy.frozen

lock:
	@$(LOCK) --output-file requirements/base.txt pyproject.toml
	@$(LOCK) --output-file requirements/dev.txt --constraints requirements/base.txt --group dev pyproject.toml

clean:
	@rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# The stamp is younger than what it was made from, or the environment is filled again. Nothing is ever removed from the
# environment, so that extras put there by hand stay.
$(READY): pyproject.toml requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "tminus needs Python 3.11 or newer, but '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." >&2; \
	  echo "Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "filling $(VENV) from requirements/dev.txt"
	@set -e; if uv --version >/dev/null 2>&1; then \
	  test -x $(BIN)/python || uv venv --quiet --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(VENV); \
	  uv pip install --quiet --python $(BIN)/python --require-hashes --requirements requirements/dev.txt; \
	  uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .; \
	else \
	  test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV); \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .; \
	fi
	@touch $@
