# Everything this project does has a target here; each sets up what it needs by
# itself and is quick the second time. Paths are relative: the folder's own path
# may have spaces in it.

PYTHON ?= python3
BIN := .venv/bin
PY := $(BIN)/python
PYTEST := $(PY) -m pytest
SOURCES := $(shell git ls-files -co --exclude-standard -- prokurist 2>/dev/null | tr '\n' ' ')

# What is drawn at random goes by it, too: a replay tells it.
PYTHONHASHSEED ?= $(shell od -An -N2 -tu2 /dev/urandom | tr -d ' ')
export PYTHONHASHSEED := $(PYTHONHASHSEED)
# Tests start hundreds of processes, and each would compile three hundred modules anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help maintenance demo demo-spark test test-long test-spark test-fast versions simulate soak quiet-topics soak-upgrade chaos-groups chaos-writers chaos-transactions chaos-shares conformance test-secured kill-spark spark-matrix fuzz fuzz-sanitized check format lint types contracts verify-types bench bench-docs docs generated picture dashboard broker wheels clean

help: ## print these lines
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile
	@echo "make maintenance    print the other targets: long runs, single checks, generated files"

maintenance: #: print these lines
	@awk -F ':.*#: ' '/^[a-z-]+:.*#: / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

demo: .venv/package ## see it at work: a broker, frozen and thawed; a real Kafka with make demo KAFKA=1
	@KAFKA="$(KAFKA)" $(PY) docs/demo.py

demo-spark: .venv/ready ## Spark at work: its broker frozen, its driver killed; a real Kafka with KAFKA=1
	@KAFKA="$(KAFKA)" $(PY) docs/demo_spark.py

# Tests wait for most of their time, so all are run at once, by seven processes on two cores; with
# more of them deadlines are missed. Those with brokers, real and embedded, are shared by files,
# since a file shares its brokers, among four, or three where time is not short. One has those with
# a real Spark, whose callbacks have threads as they like. Two have those that compute, and give way
# to the others: virtual time does not mind. With LONG=1 what takes minutes follows in the same
# processes, but for runs in trouble and outages under Spark: those keep two cores busy by
# themselves, and judge by deadlines. They are for make test-long.
REAL := tests/broker tests/chaos tests/soak tests/conformance
BROKERS := $(REAL) tests/embedded
TROUBLE := tests/chaos tests/soak
LONG_BESIDE := -m minutes -n 3 --dist loadfile tests/broker tests/conformance tests/embedded tests/simulation/lockstep tests/packaging
SHARED := $(PYTEST) -p xdist.plugin
LONG ?=
test: .venv/ready ## all tests but those of minutes, most of which LONG=1 adds; skips counted by reason
	@mkdir -p build; { $(SHARED) -m "not minutes" -n $(if $(LONG),3,4) --dist loadfile $(BROKERS); brief=$$?; \
		$(if $(LONG),$(SHARED) $(LONG_BESIDE),true); exit $$(( brief | $$? )); } > build/real.txt 2>&1 & real=$$!; \
	$(PYTEST) -m "not minutes" tests/spark > build/spark.txt 2>&1 & spark=$$!; \
	nice -n 5 $(SHARED) -m "not minutes" -n 2 --dist worksteal $(BROKERS:%=--ignore=%) --ignore=tests/spark; rest=$$?; \
	wait $$real; real=$$?; echo "== $(BROKERS)"; cat build/real.txt; \
	wait $$spark; spark=$$?; echo "== tests/spark"; cat build/spark.txt; exit $$(( rest | real | spark ))

test-long: .venv/ready #: the tests that take minutes: rolling restarts, long runs in trouble, a Spark that is killed
	@$(SHARED) $(LONG_BESIDE); beside=$$?; \
	$(SHARED) -m minutes -n 2 --dist loadfile $(TROUBLE); trouble=$$?; \
	$(PYTEST) -m minutes tests/spark; exit $$(( beside | trouble | $$? ))

test-spark: .venv/ready #: all with a real Spark, and its own Kafka connector beside ours
	$(PYTEST) tests/spark

test-fast: .venv/ready ## unit tests and simulation only, under a minute
	$(PYTEST) -m "not slow and not kafka" tests/unit tests/simulation

PYTHONS ?= $(wildcard $(HOME)/.pyenv/versions/3.1[1-9].*/bin/python3 /usr/bin/python3.1[1-9])
versions: .venv/ready #: the fast tests, built native, on every Python found: make versions PYTHONS=python3.13
	@set -e; for each in $(PYTHONS); do \
		echo "== $$($$each --version)"; \
		venv="build/versions/$$($$each -c 'import platform; print(platform.python_version())')"; \
		$$each -m venv "$$venv"; \
		"$$venv/bin/python" -m pip install -q -r requirements-dev.txt; \
		"$$venv/bin/python" -m pip install -q --no-build-isolation -e ".[cli,prometheus,testing]"; \
		PROKURIST_IMPL=native "$$venv/bin/python" -m pytest -q -m "not slow and not kafka" tests/unit tests/simulation; \
	done

SEEDS ?= 20000
# A run that yields to all others may take long.
RUNS = nice -n 19 $(PYTEST) -q -p no:logging --timeout 300 tests/simulation/test_seeds.py tests/simulation/test_many_members.py tests/simulation/test_workloads.py tests/simulation/test_contradictions.py tests/simulation/test_producer_lives.py tests/simulation/test_transaction_lives.py
simulate: .venv/ready #: many random runs, on two cores: make simulate SEEDS=100000
	@half=$$(( $(SEEDS) / 2 )); \
	PROKURIST_SEEDS=1-$$half $(RUNS) & first=$$!; \
	PROKURIST_SEEDS=$$(( half + 1 ))-$(SEEDS) $(RUNS); \
	second=$$?; wait $$first && exit $$second

MINUTES ?= 60
SEED ?= 1
soak: .venv/ready #: three real nodes in trouble, by seed: make soak MINUTES=60 SEED=1
	@$(PY) -m tests.soak --minutes $(MINUTES) --seed $(SEED)

test-secured: .venv/ready #: the broker tests of consumer, groups and producer over SASL_SSL, about eight minutes
	PROKURIST_TEST_SECURITY=1 $(PY) -m pytest -q -n 2 --dist loadfile $(addprefix tests/broker/test_,consumer.py commits.py fetch.py positions.py wakeups.py consumer_groups.py classic_groups.py closing.py deadlines.py faults.py validation.py consumer_lookups.py produced_records.py producer.py producer_deadlines.py)

quiet-topics: MINUTES = 20
quiet-topics: .venv/ready #: quiet topics in trouble beside confluent-kafka: make quiet-topics MINUTES=20 SEED=1
	@$(PY) -m tests.soak --quiet --minutes $(MINUTES) --seed $(SEED)

UPGRADE ?= 4.3.1
soak-upgrade: .venv/ready #: readers while 3.9.2 is upgraded node by node: make soak-upgrade UPGRADE=4.3.1 SEED=1
	@$(PY) -m tests.soak --upgrade $(UPGRADE) --seed $(SEED)

PROTOCOL ?= both
CLIENTS ?= core
chaos-groups: MINUTES = 20
chaos-groups: .venv/ready #: groups in trouble, by seed: make chaos-groups MINUTES=20 SEED=1 PROTOCOL=both CLIENTS=all
	@$(PY) -m tests.chaos --minutes $(MINUTES) --seed $(SEED) --protocol $(PROTOCOL) --clients $(CLIENTS)

chaos-writers: MINUTES = 20
chaos-writers: .venv/ready #: producers in trouble, by seed: make chaos-writers MINUTES=20 SEED=1 CLIENTS=all
	@$(PY) -m tests.chaos --writers --minutes $(MINUTES) --seed $(SEED) --clients $(CLIENTS)

chaos-transactions: MINUTES = 20
chaos-transactions: .venv/ready #: groups that read, process and write: make chaos-transactions MINUTES=20 SEED=1
	@$(PY) -m tests.chaos --transactions --minutes $(MINUTES) --seed $(SEED)

chaos-shares: MINUTES = 20
chaos-shares: .venv/ready #: a share group in trouble, each record accounted for: make chaos-shares MINUTES=20 SEED=1
	@$(PY) -m tests.chaos --shares --minutes $(MINUTES) --seed $(SEED)

COUNT ?= 200
conformance: .venv/ready #: the model beside real brokers, by seed: make conformance SEED=1 COUNT=200
	@$(PYTEST) -q tests/conformance
	@$(PY) -m tests.conformance --seed $(SEED) --count $(COUNT)

ROUNDS ?= 10
PART ?= source
kill-spark: .venv/ready #: a Spark whose parts are killed, by seed: make kill-spark ROUNDS=10 SEED=1 PART=sink
	@$(PY) -m tests.spark.kills --part $(PART) --rounds $(ROUNDS) --seed $(SEED)

spark-matrix: .venv/ready #: other versions of pyspark, pyarrow and pandas, below build/spark
	@$(PY) -m tests.spark.matrix

FUZZ ?= 10000000
fuzz: .venv/ready #: hostile bytes, by seed, on two cores: make fuzz FUZZ=10000000 SEED=1
	@$(PY) -m tests.fuzz --count $(FUZZ) --seed $(SEED)

SANITIZED := build/sanitized
FUZZ_SANITIZED ?= 300000
SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g
# Of where each block came from and went two frames are kept, or what is kept of them grows without
# end: beyond Python's own code, which has no frame pointers, they differ by chance.
ASAN := detect_leaks=0:quarantine_size_mb=4:malloc_context_size=2:allocator_may_return_null=1
fuzz-sanitized: .venv/ready #: the same with the native code under AddressSanitizer and UBSan; wants gcc
	rm -rf $(SANITIZED) && mkdir -p $(SANITIZED)
	git ls-files -z -co --exclude-standard -- prokurist tests pyproject.toml README.md LICENSE NOTICE | tar --null -T - -c | tar -x -C $(SANITIZED)
	cd $(SANITIZED) && sed -i 's/"-O3", "-g0"/"-O1"/' pyproject.toml && CFLAGS="$(SANITIZERS)" LDFLAGS="-fsanitize=address,undefined" "$(CURDIR)/$(PY)" -c "import setuptools; setuptools.setup()" -q build_ext --inplace
	cd $(SANITIZED) && LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" PYTHONMALLOC=malloc ASAN_OPTIONS=$(ASAN) UBSAN_OPTIONS=print_stacktrace=1 "$(CURDIR)/$(PY)" -m tests.fuzz --count $(FUZZ_SANITIZED) --seed $(SEED)

check: lint contracts types verify-types test ## everything a change has to pass

format: .venv/ready ## put the code into its form
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

lint: .venv/ready #: form and lint, of the prose as well
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(PY) -m tests.prose

types: .venv/ready #: mypy, strict, over package and tests
	$(BIN)/mypy

contracts: .venv/ready #: who may import whom
	$(BIN)/lint-imports --no-logo

verify-types: build/types/ready #: the public API is typed in full, seen from an installed wheel
	@PATH="$$PWD/build/types/bin:$$PATH" $(PY) -m pyright --ignoreexternal --verifytypes prokurist

BENCHMARKS := import_cost first_record decode round_trip idle fairness metrics tracing overshoot rebalance consume produce transactions secured spark

bench: .venv/ready #: every benchmark, against peers in the same run: about an hour
	$(PY) -m pip install -q -r benchmarks/requirements.txt
	@set -e; for each in $(BENCHMARKS); do echo "== $$each"; $(PY) benchmarks/$$each.py; done

DOCUMENTED := consume secured produce overshoot idle round_trip first_record fairness rebalance spark
ONLY ?= $(DOCUMENTED)
# So that all of them take less than an hour, and none of them more than ten minutes.
BRIEF_secured := --rounds 2
BRIEF_overshoot := --calls 3000 --samples 1
BRIEF_idle := --timeouts 3000
BRIEF_spark := --rounds 2 --triggers 100

bench-docs: .venv/ready #: measure, keep the results as data, write the pages' tables: ONLY="consume produce"
	$(PY) -m pip install -q -r benchmarks/requirements.txt
	@set -e; $(foreach each,$(ONLY),echo "== $(each)"; $(PY) benchmarks/$(each).py --keep $(BRIEF_$(each));)
	$(PY) benchmarks/pages.py

docs: .venv/docs ## the documentation, as HTML in docs/_build
	$(PY) -m sphinx -q -E -a -n -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

generated: .venv/ready #: write what is generated from the tables
	$(PY) -m tests.messages > build.tmp && mv build.tmp prokurist/network_thread/wire/tables.py
	$(PY) -m docs.generate
	PROKURIST_IMPL=python $(PY) -m tests.public_api > build.tmp && mv build.tmp tests/public_api.txt

picture: .venv/ready #: draw a commit to a frozen broker, as it stands in the README
	$(PY) docs/frozen_commit.py > build.tmp && mv build.tmp docs/frozen_commit.svg

dashboard: .venv/ready #: the Grafana dashboard on real data, as a page; wants prometheus
	@$(PY) docs/ops/preview.py build/dashboard.html

broker: .venv/ready ## a real Kafka in the foreground, to play with: make broker ARGS="--nodes 3"
	@$(PY) -m prokurist.testing.kafka $(ARGS)

wheels: .venv/wheels #: a release in dist/, checked: make wheels ARGS="--python 3.13 --target x86_64-linux-gnu"
	@nice -n 10 $(PY) tools/wheels.py $(ARGS)

clean: ## remove what the other targets made
	rm -rf .venv build dist docs/_build *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find prokurist tests docs benchmarks \( -name __pycache__ -o -name '*.so' -o -name '_native*.c' \) -prune -exec rm -rf {} +

# --- what the targets stand on --------------------------------------------------

# The package and its embedded broker: all that the demonstration needs.
NATIVE := $(wildcard prokurist/*/_native*.pyx prokurist/*/*/_native*.pyx prokurist/*/_native_*.pxi prokurist/*/*/_native_*.pxi)
.venv/package: requirements-build.txt pyproject.toml $(NATIVE)
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and "prokurist needs Python 3.11 or newer; $(PYTHON) is %d.%d: name another, as in make PYTHON=python3.12" % v[:2])'
	@echo "Installing prokurist with its native modules into .venv: about half a minute, once."
	@$(PYTHON) -m venv .venv
	@$(PY) -m pip install -q -r requirements-build.txt
	@$(PY) -m pip install -q --no-build-isolation -e ".[testing]"
	@touch $@

.venv/ready: requirements-dev.txt .venv/package
	@echo "Installing the development tools into .venv, PySpark among them: about two minutes, once."
	@$(PY) -m pip install -q -r requirements-dev.txt
	@$(PY) -m pip install -q --no-build-isolation -e ".[cli,prometheus,testing]"
	@touch $@

.venv/docs: .venv/ready requirements-docs.txt
	$(PY) -m pip install -q -r requirements-docs.txt
	@touch $@

.venv/wheels: .venv/ready requirements-wheels.txt
	$(PY) -m pip install -q -r requirements-wheels.txt
	@touch $@

# verifytypes finds nothing in an editable install, so it looks at a wheel's. PySpark is half
# a gigabyte, and is lent.
build/types/ready: .venv/ready $(SOURCES)
	rm -rf build/types
	$(PY) -m build -q --no-isolation --outdir build/types/wheel .
	$(PYTHON) -m venv build/types
	build/types/bin/python -m pip install -q "$$(echo build/types/wheel/*.whl)[cli,jsonschema,otel,prometheus,protobuf,registry,testing]"
	ln -s "$$($(PY) -c 'import pyspark; print(*pyspark.__path__)')" build/types/lib/python3*/site-packages/
	@touch $@
