# make demo    a tour of the example shop        make test   every check, as in CI
# make ui      the shop in Airflow's UI          make stop   end the Spark that the demo left running
# make test-airflow   all tests with a real Airflow and a browser (three quarters of an hour)
# make bench   measure (prints a table)          make docs   build the documentation into build/site
#
# Everything lives in .venv, which the first target makes; `make clean` takes it away again.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PIP    := $(BIN)/python -m pip install -qq --disable-pip-version-check
DOTS   := ( while sleep 2; do printf .; done ) & dots=$$!; trap "kill $$dots" EXIT; # while the rest of the line runs

# Tests with real schedulers and servers share a machine with whatever else it does. What fails beside other tests runs once
# more, alone, and both are told; what is broken fails again. (1: tests failed. A run that broke off is not tried again.)
pytest = $(BIN)/python -m pytest $(1) </dev/null || { test $$? = 1 && echo "Once more, alone, what failed:" \
	&& $(BIN)/python -m pytest $(1) -n 0 --last-failed --last-failed-no-failures none </dev/null; }

# Of the tests with a real Airflow, those that `make test` runs, three files at a time; `make test-airflow` runs all of them, one
# after the other: some kill the scheduler, or stop the DAG processor, which others would wait for.
EVERYDAY := example or first_deploy or failure_in_the_middle or edits_while or git_bundle or drift_makes or \
	needs_an_approval or worker_killed or cleared_run or marked_as_failed or plan_that_was_shown or changed_file_is or \
	plan_and_why or may_not_read_the_dag or driver_on_the_cluster or killed_and or of_a_team

.DEFAULT_GOAL := help
.PHONY: help venv demo ui stop test test-airflow lint docs bench clean

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

venv: $(READY)

$(READY): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "There is no $(PYTHON) here. SparkDeploy needs Python 3.11 or newer: make PYTHON=/path/to/python $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "SparkDeploy needs Python 3.11 or newer; this is `$(PYTHON) --version`. Try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@printf "Making the virtual environment $(VENV), once; it takes some minutes "
	@$(DOTS) { $(PYTHON) -m venv $(VENV) && $(PIP) --upgrade "pip>=25.1" && $(PIP) -c constraints.txt -e ".[embedded]" --group dev --group docs; } || { echo; echo "The packages could not be installed: pip says why above. Can it reach its index? Then run make $(MAKECMDGOALS) again."; exit 1; }
	@echo && touch $(READY)

demo: $(READY)
	@$(BIN)/python dags_examples/demo.py

ui: $(READY)
	@$(BIN)/python dags_examples/ui.py

stop: $(READY)
	@$(BIN)/sparkdeploy local stop --warehouse build/demo/warehouse

test: lint
	@bash tests/services.sh
	@$(call pytest,-n 2 --dist loadfile --max-worker-restart 2 --durations=10 --ignore tests/airflow)
	@$(call pytest,-n 3 --dist loadfile --max-worker-restart 2 --durations=5 tests/airflow -k "$(EVERYDAY)")

test-airflow: $(READY)
	@bash tests/services.sh
	@$(call pytest,--durations=10 tests/airflow)

lint: $(READY)
	@$(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet . && echo "ruff: clean"
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache | tail -n 3

docs: export NO_MKDOCS_2_WARNING := 1
docs: $(READY)
	@$(BIN)/mkdocs build --strict --quiet && echo "build/site/index.html; with a search: python3 -m http.server --bind 127.0.0.1 --directory build/site"

bench: $(READY)
	@$(BIN)/python benchmarks/bench.py
	@$(BIN)/python benchmarks/spark.py
	@$(BIN)/python benchmarks/rendering.py
	@$(BIN)/python benchmarks/deploying.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
