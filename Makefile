PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
# Where it is set, as in images of Python, every process of a test compiles our modules again.
unexport PYTHONDONTWRITEBYTECODE
# uv does not read pip's configuration; the index that it names is taken from there.
UV_INDEX = index=$${UV_DEFAULT_INDEX:-$${PIP_INDEX_URL:-$$($(BIN)/python -m pip config get global.index-url 2>/dev/null)}}; \
	[ -z "$$index" ] || export UV_DEFAULT_INDEX="$$index";
UV_INSTALL = $(UV_INDEX) $(BIN)/uv pip install --python $(BIN)/python
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-package millrace-streams

.DEFAULT_GOAL := help
.PHONY: help venv check collected test test-wheel test-compose test-real test-node sim fuzz search everything share mutants histories demo exact crash bench bench-planner bench-real bench-scale bench-replay bench-run bench-runtime bench-resize soak-runtime soak-kafka bench-node image real-up real-status real-down reach helm generate lock clean

help:  ## this table of contents
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.installed: requirements-dev.lock requirements-uv.lock pyproject.toml millrace/pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 is needed: '$(PYTHON)' was not found. Install it, or say PYTHON=/path/to/python3.11."; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { echo "Python 3.11 is needed, and $(PYTHON) is another. Say PYTHON=/path/to/python3.11."; exit 2; }
	@echo "creating $(VENV) (a few seconds; about a minute when packages must be downloaded)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-uv.lock
	@$(UV_INSTALL) --require-hashes -r requirements-dev.lock
	@echo "  installing millrace-streams and millrace-control-plane"
	@$(UV_INSTALL) --quiet --no-deps --no-build-isolation -e ./millrace -e .
	@touch $@

venv: $(VENV)/.installed  ## create .venv with everything in it; .venv/bin/millrace is the command

check: venv  ## lint, format, types, import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

collected: check  ## find every test: their modules are compiled then, once for all workers of make test
	@found=$$($(BIN)/pytest -qq --collect-only -n 0) || { echo "$$found" | tail -n 40; exit 1; }

test: venv  ## every test that needs nothing but Python (and the real bundles, where they are); ARGS="-n 0 -k WORD"
	$(BIN)/pytest -n auto --dist loadfile -rR $(ARGS)

test-wheel: venv  ## build a wheel and try it in an empty environment, which needs a package index or its cache
	@$(UV_INDEX) $(BIN)/pytest -n 0 -m wheel tests/wheel $(ARGS)

test-compose: venv  ## build the images without a registry and run the whole system with Docker Compose (root; .ci/packages)
	$(BIN)/pytest -n 0 -m compose -p no:randomly tests/compose $(ARGS)

test-real: venv  ## the same suites and faults on Kafka and a real control plane, brought up and taken down
	$(BIN)/python -m tests.real $(ARGS)

test-node: venv  ## the chart on a real node: every service in a pod, ended in every way under resizes (root)
	$(BIN)/python -m tests.node $(ARGS)

sim: venv  ## every fault at every step of every scenario, in virtual time; SEEDS=100 adds random runs, ARGS=--list tells
	@$(BIN)/python -m tests.simulation --seeds $(or $(SEEDS),0) $(ARGS)

fuzz: venv  ## 10,000 bad objects and records beside a good job, in virtual time; ARGS="--seed 2 --count 500", ARGS=--real: on the pair
	@$(BIN)/python -m tests.fuzz $(ARGS)

search: venv  ## every property once more with examples of its own, which make test draws alike for everybody; TIMES=10
	@for run in $$(seq $(or $(TIMES),1)); do \
	  $(BIN)/pytest -m hypothesis --hypothesis-profile=searching $(ARGS) || exit 1; \
	done

everything: venv  ## all tests but those of make mutants, sim and crash, in parts; goes on where it was interrupted; ARGS="pair", ARGS=--list
	@$(BIN)/python -m tests.pieces everything $(ARGS)

share:  ## which pieces of the long suites CI plays for this commit, and why
	@$(PYTHON) -m tests.pieces share $(ARGS)

mutants: venv  ## plant known faults one by one; the tests must catch each; ARGS="words of their names"
	$(BIN)/python -m tests.mutants $(ARGS)

histories: venv  ## make recordings of tests/histories again; ARGS="record NAME", ARGS=list, ARGS=bug or large: on the real pair
	$(BIN)/python -m tests.histories $(ARGS)

exact: venv  ## numbered tuples through resizes, restarts, drains and lost services, and values of 500 types, on the sandbox; TUPLES=100000 RATE=2500 SCHEDULES=20 SEED=0 ROUNDS=1
	MILLRACE_EXACT_TUPLES=$(or $(TUPLES),100000) MILLRACE_EXACT_RATE=$(or $(RATE),2500) MILLRACE_EXACT_SCHEDULES=$(or $(SCHEDULES),20) MILLRACE_EXACT_SEED=$(or $(SEED),0) MILLRACE_EXACT_ROUNDS=$(or $(ROUNDS),1) $(BIN)/pytest -n 0 tests/e2e/test_exactness.py tests/e2e/test_values.py tests/unit/millrace/test_values_are_the_same.py $(ARGS)

crash: venv  ## SIGKILL and SIGSTOP to processes of PEs, and hand-overs that take long: what is lost is reported; a table; about 15 min
	MILLRACE_CRASHES=1 $(BIN)/pytest -n 0 -p no:randomly -m "not real" tests/e2e/test_crashes.py tests/e2e/test_slow_hand_overs.py $(ARGS)

demo: venv  ## the whole system on this machine: submit, resize, look; ARGS=--keep leaves it running
	$(BIN)/millrace demo $(ARGS)

bench: venv  ## measure submit and resize against the floor; ARGS="--sizes 10,100", ARGS=--record: into docs/measurements.md
	$(BIN)/python -m loadtest $(ARGS)

bench-planner: venv  ## measure the planner alone, against lxml, up to 100,000 operators; ARGS="--sizes 1000,10000"
	$(BIN)/python -m loadtest --planner $(ARGS)

bench-real: venv  ## the same on Kafka and a real control plane, with stages, CPU and event hops; ARGS="--json FILE"
	$(BIN)/python -m loadtest --real $(ARGS)

bench-scale: venv  ## 5,000 PEs in 100 jobs on a real pair of its own, in some minutes; ARGS="--jobs 10 --pes 50", ARGS=--record
	$(BIN)/python -m loadtest.scale $(ARGS)

bench-replay: venv  ## replay a recording of 1,000,000 facts: CPU and memory; ARGS=100000: so many; ARGS=FILE: what its decisions cost
	$(BIN)/python -m loadtest.replaying $(ARGS)

bench-run: venv  ## tuples a second of an application in one process, beside a bare loop; ARGS=100000: so many
	$(BIN)/python -m loadtest.running $(ARGS)

bench-runtime: venv .bench/.installed  ## speed of real PEs beside bare loops and Bytewax; ARGS="1000000 3 chain pair", ARGS=--record
	$(BIN)/python -m loadtest.pe_speed $(ARGS)

.bench/.installed: requirements-bench.lock
	rm -rf .bench && $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --target .bench -r $<
	touch $@

bench-resize: venv  ## a resize from 3 to 5 channels under 50,000 tuples a second: how long a key waits, and what is lost
	$(BIN)/python -m loadtest.resizing $(ARGS)

soak-runtime: venv  ## real PEs for 12 minutes: is memory flat (ARGS=slow-sink), is anything lost (ARGS=paused-peer)
	$(BIN)/python -m loadtest.soaking $(ARGS)

soak-kafka: venv  ## the adapter for Kafka on a broker with TLS and SCRAM: partitions added, retention, transactions, restarts; MINUTES=30
	MINUTES=$(MINUTES) $(BIN)/python -m tests.real.soaking_kafka

bench-node: venv  ## how long a pod of each service takes until it is ready, beside many PEs; PES=1000
	MILLRACE_NODE_PES=$(or $(PES),1000) $(BIN)/python -m tests.node tests/node/test_starting.py $(ARGS)

real-up: venv  ## Kafka and a real control plane on loopback; ARGS="--brokers 3 --nodes 8 --state DIR --node"
	@$(BIN)/millrace real up $(ARGS)

real-status: venv  ## what of the real pair runs; its last line is for eval
	@$(BIN)/millrace real status $(ARGS)

real-down: venv  ## end the real pair and remove its folder
	@$(BIN)/millrace real down $(ARGS)

reach: venv  ## note again which scenario reaches which rule, in some minutes, and write the generated files
	$(BIN)/python -m tests.simulation --undisturbed --reach deploy/reached.json
	notes=$$(mktemp -d) && MILLRACE_REACH_NOTES=$$notes $(BIN)/pytest -q -n auto --dist loadfile tests/simulation --ignore tests/simulation/test_plans.py \
	&& $(BIN)/python -m tests.simulation.reached deploy/reached.json $$notes/* && rm -r $$notes
	$(MAKE) generate

generate: venv  ## write the generated files (CRDs, roles, the chart's parts, manifests, pages) again
	$(BIN)/python -m deploy.generating
	@$(BIN)/python -m tools.rendering

helm: venv  ## build Helm, of the pinned version, into the cache, and say where it is
	@$(BIN)/python -m tools.helm

lock: venv  ## resolve the dependencies again: what runs (requirements.lock), with the sandbox, in a PE, what builds images, what develops, Bytewax
	echo 'uv>=0.9' | $(COMPILE) - -o requirements-uv.lock
	$(COMPILE) pyproject.toml -o requirements.lock
	$(COMPILE) --extra sandbox --extra dev -c requirements.lock pyproject.toml -o requirements-dev.lock
	$(COMPILE) --extra sandbox -c requirements-dev.lock pyproject.toml -o requirements-sandbox.lock
	$(COMPILE) --extra runtime --extra http --extra kafka --extra redis -c requirements-dev.lock millrace/pyproject.toml -o requirements-runtime.lock
	echo 'bytewax>=0.21' | $(COMPILE) -c requirements-dev.lock - -o requirements-bench.lock
	echo 'setuptools>=80' | $(COMPILE) -c requirements-dev.lock - -o requirements-build.lock

clean:  ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
