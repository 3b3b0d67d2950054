# Two commands do everything, set-up included:  make demo   make test
PYTHON ?= python3
VENV   := .venv
MINUTES ?= 30
MIN_TORCH ?= $(shell grep ^torch== constraints.txt)
BIN    := $(VENV)/bin
FAST   := not slow and not cluster and not browser and not kills and not latex
SLOW   := slow or cluster or browser or kills or latex

.PHONY: demo test test-all test-min docs lint mutants fuzz clean

demo: $(VENV)/.demo
	$(BIN)/grande demo

test: $(VENV)/.test lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "$(FAST)" -n 2 --dist worksteal

test-all: $(VENV)/.test-all
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "($(SLOW)) and not alone" -n 2 --dist loadfile
	$(BIN)/python -m pytest -m alone

# The oldest versions that pyproject.toml allows, in an environment of their own. torch is that of constraints.txt, because its oldest
# version brings gigabytes of CUDA packages: make test-min MIN_TORCH=torch==2.8.0
test-min:
	test -x $(VENV)-min/bin/python || $(PYTHON) -m venv $(VENV)-min
	$(PYTHON) scripts/minimum_versions.py > $(VENV)-min/requirements.txt
	$(VENV)-min/bin/python -m pip install --quiet --requirement $(VENV)-min/requirements.txt "$(MIN_TORCH)" \
		--editable . pytest pytest-xdist hypothesis httpx
	OMP_NUM_THREADS=1 $(VENV)-min/bin/python -m pytest -m "$(FAST)" -n 2 --dist worksteal \
		$(filter-out tests/attack tests/benchmarks tests/data tests/faults tests/fuzz tests/mutation tests/scripts,$(wildcard tests/[a-z]*))

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -j 2 docs build/docs
	@echo "Open build/docs/index.html"

mutants: $(VENV)/.test
	$(BIN)/python tests/mutation/run.py --jobs 2 --out mutants.jsonl

fuzz: $(VENV)/.test
	OMP_NUM_THREADS=1 $(BIN)/python tests/fuzz/run.py --minutes $(MINUTES)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/.demo: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.test: $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[test]"
	touch $@

$(VENV)/.docs: $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs,images,review,plot,pyg]"
	touch $@

$(VENV)/.test-all: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[test-all]"
	sh scripts/install-test-tools.sh
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-min .pytest_cache .mypy_cache .ruff_cache build dist
