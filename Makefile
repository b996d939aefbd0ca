# A menu: every entry is one or two commands that can as well be typed by hand. `make` shows it.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
# Debian's own cmake, python3 and compilers, whatever else is installed.
export PATH := /usr/bin:$(PATH)

BUILD := build/release
JOBS ?= $(shell nproc)
# More than cores: many tests wait for a deadline, for a server to start, for workers that sleep.
TEST_JOBS ?= 5
ARGS ?=
# What a test tool gets of ARGS: as it was typed, but for quotes, which may keep words together. Nothing in it is for a shell.
WORDS = $(if $(value ARGS),$(shell tests/support/selection.py words '$(subst ','\'',$(value ARGS))')$(if $(filter-out 0,$(.SHELLSTATUS)),$(error \
          ARGS cannot be read)))
JSON ?=
export JSON
IMAGES ?=
export DOCKER
# What clang-format and clang-tidy look at; ONLY=lib/sync narrows it.
ONLY ?= lib operator ps-server worker cli simulator python tests
SOURCES = git ls-files --cached --others --exclude-standard -- \
            $(foreach folder,$(ONLY),'$(folder)/*.h' '$(folder)/*.cc')

.PHONY: help setup run welcome test test-hosts test-large test-limits test-simulated test-advised kubernetes build bench-data-plane bench-store bench-control bench-ddp bench-interrupt bench-operator bench-operator-tools bench-policy bench-simulator bench-step reproduce reproduce-full reproduce-auto simulator-identity gpu-proof wheel soak images e2e e2e-soak chart lint format verify crd \
        test-asan test-tsan clean

help: ## Show this menu
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' Makefile

# What is to be downloaded for a first build comes while the rest is compiled.
run: SETUP = $(if $(wildcard $(BUILD)/build.ninja),--to-link,--packages)
run: welcome $(BUILD)/build.ninja ## Train the sample job on this machine (ARGS='--set spec.sync.scheme=SSP -o json' is handed on)
	@tools/build $(BUILD) --jobs $(JOBS) paceline paceline-ps paceline-worker
	@$(BUILD)/bin/paceline run deploy/samples/digits.yaml $(ARGS)

welcome:
	@[ -x $(BUILD)/bin/paceline-worker ] || echo "make run: installs what is missing (LibTorch is 130 MB to download), compiles three programs and trains the sample: six to eight minutes on two cores the first time, seconds afterwards" >&2

# What selects no test says so before anything is built.
test: ## Build everything and run every test (ARGS='-R Recovery' is handed on to ctest)
	@tests/support/selection.py ctest $(BUILD) $(WORDS)
	@$(MAKE) --no-print-directory build kubernetes
	@tests/run $(BUILD) -j $(TEST_JOBS) $(WORDS)

test-hosts: build ## Run what tests/integration asks of paceline-worker against a Python script in its place: half an hour
	@tests/run $(BUILD) -C Hosts -L hosts -j $(TEST_JOBS)

test-large: $(BUILD)/build.ninja ## Train two steps of a model with one tensor of 2.2 GiB: 20 GiB of memory, peak printed
	@tools/build $(BUILD) --jobs $(JOBS) paceline paceline-ps paceline-worker
	@tests/integration/large_tensor.py $(BUILD)/bin/paceline

test-simulated: $(BUILD)/build.ninja ## Run a sample live under BSP and ASP, and simulate both: seconds a version side by side, half a minute
	@tools/build $(BUILD) --jobs $(JOBS) paceline paceline-ps paceline-worker paceline-simulator
	@tests/integration/simulated_beside_live.py $(BUILD)

test-advised: $(BUILD)/build.ninja ## Advise on a run of each sample, and run what was advised: told and live side by side, ten minutes (ARGS='--seeds 2', JSON=FILE writes rows)
	@tools/build $(BUILD) --jobs $(JOBS) paceline paceline-ps paceline-worker paceline-simulator
	@tests/integration/advised_beside_live.py $(BUILD) $(ARGS)

# 77: this machine has no Go. The tests that want an API server say that they are skipped, and why.
kubernetes: ## Build kube-apiserver, etcd, helm for the tests: 10 minutes, once (KUBEBUILDER_ASSETS is used where set)
	@tests/cluster/cluster build api helm || [ $$? = 77 ]

build: $(BUILD)/build.ninja ## Build everything
	@tools/build $(BUILD) --jobs $(JOBS)

bench-data-plane bench-store bench-control bench-interrupt bench-operator bench-policy bench-simulator bench-step: bench-%: $(BUILD)/build.ninja
	@tools/build $(BUILD) --jobs $(JOBS) bench_$(subst -,_,$*)
	@$(BUILD)/bin/bench_$(subst -,_,$*) $(ARGS)

# What cannot be built, without Go say, the bench leaves out, and says so.
bench-operator: bench-operator-tools
bench-operator-tools:
	@for part in api kwok training-operator; do tests/cluster/cluster build $$part || true; done

bench-data-plane: ## Push and pull, GB/s and CPU-seconds per GB, beside raw loopback (JSON=FILE writes rows)
bench-store: ## Accumulate and optimizer, GB/s beside memcpy and a triad (JSON=FILE writes rows)
bench-control: ## Last push arrived to release sent, microseconds (JSON=FILE writes rows)
bench-interrupt: ## From an interrupt until the step has ended, milliseconds, beside the step that runs on (JSON=FILE writes rows)
bench-operator: ## Pods per second, CPU and memory of the operator, beside the API server's limit and Kubeflow's (JSON=FILE writes rows)
bench-policy: ## One event of each policy, microseconds, and the server's driver, of a core, with 100 and 1,000 workers (JSON=FILE writes rows)
bench-simulator: ## Events of the simulator a second, alone and with coordination and policy, 100 to 10,000 workers (JSON=FILE writes rows)
bench-step: ## A step of training beside DDP with gloo, and one worker beside PyTorch's loop, in reduced precision too: 20 minutes (ARGS='--rounds 3 --part step'; '--part links': throttled links, root's; JSON=FILE writes rows)

bench-ddp: $(BUILD)/build.ninja ## Time to a held-out loss by delay tables, beside DDP with gloo: an hour (ARGS='--tables mixed --arms ddp,auto --jobs 3', JSON=FILE writes rows)
	@tools/build $(BUILD) --jobs $(JOBS) paceline paceline-ps paceline-worker
	@tests/bench/beside_ddp.py $(BUILD) $(ARGS)

reproduce: $(BUILD)/build.ninja ## What the papers publish beside simulated lives, and all schemes and Auto on 58 clusters: 22 minutes of two cores (ARGS='--only wbsp', JSON=FILE writes rows)
	@tools/build $(BUILD) --jobs $(JOBS) paceline paceline-simulator predict_speeds
	@tests/reproduce/reproduce.py $(BUILD) --jobs $(JOBS) $(ARGS)

reproduce-full: $(BUILD)/build.ninja ## Look for each arm's best rate first, where it is not known, and rewrite docs/reproduction: 50 minutes where none is known (may be stopped and goes on)
	@tools/build $(BUILD) --jobs $(JOBS) paceline paceline-simulator predict_speeds
	@tests/reproduce/reproduce.py $(BUILD) --jobs $(JOBS) --full --write $(ARGS)

reproduce-auto: $(BUILD)/build.ninja ## Of make reproduce, single clusters of the 58 (ARGS='--only 3,9 --jobs 2'), or Auto with twelve seeds where it may fail (ARGS=--safety)
	@tools/build $(BUILD) --jobs $(JOBS) paceline paceline-simulator
	@tests/reproduce/auto.py $(BUILD) $(ARGS)

simulator-identity: ## Compare simulated lives of g++ and clang++, without and with optimisation, byte by byte: half an hour, once
	@tests/identity/compare.py $(ARGS)

gpu-proof: $(BUILD)/build.ninja ## Pack what shows, on a machine with a GPU and PyTorch 2.11, all that Paceline does with it (ARGS='--device CPU' runs it here)
	@tools/build $(BUILD) --jobs $(JOBS) paceline paceline-ps paceline-worker bench_step gpu_probe python_native
	@tools/gpu_proof pack $(BUILD)/gpu-proof.tar.xz
	@[ -z '$(ARGS)' ] || tools/gpu_proof run $(BUILD)/gpu-proof.tar.xz $(ARGS)

wheel: $(BUILD)/build.ninja ## Make the Python package paceline a wheel, in build/wheel
	@tools/build $(BUILD) --jobs $(JOBS) python_native
	@python=$$(tools/setup --python) && $$python tools/wheel $(BUILD) build/wheel

test-limits: $(BUILD)/build.ninja ## Run a job with each thread, descriptor and process that it asks for missing in turn: an hour (ARGS='--program paceline-ps --kind thread')
	@tools/build $(BUILD) --jobs $(JOBS) paceline paceline-ps paceline-worker failing_calls
	@tests/limits/walk.py $(BUILD) $(if $(ARGS),$(ARGS),--all)

soak: $(BUILD)/build.ninja ## Do random faults to running jobs, two at a time: 10 minutes (ARGS='--minutes 480 --seed N', JSON=FILE writes the table)
	@tools/build $(BUILD) --jobs $(JOBS) soak
	@$(BUILD)/bin/soak $(ARGS)

images: $(BUILD)/build.ninja ## Build the container images operator, ps and worker (IMAGES='ps worker' DOCKER=buildah)
	@tools/setup --cluster >&2
	@tools/build $(BUILD) --jobs $(JOBS) paceline-operator paceline-ps paceline-worker
	@tools/images build $(IMAGES)

# What selects no test says so before anything is built, and so ends what only lists tests.
e2e: ## Run the suite on a three-node kind cluster, or on the one of KUBECONFIG (ARGS='-k digits' is handed on to pytest)
	@tools/setup --cluster >&2
	@tests/e2e/run --check $(WORDS)
ifeq (,$(filter --co --collect-only -h --help --version --markers --fixtures,$(ARGS)))
	@$(MAKE) --no-print-directory images
	@tools/build $(BUILD) --jobs $(JOBS) paceline write-stranger
	@tests/e2e/run $(WORDS)
endif

e2e-soak: images ## Ten minutes of random faults to jobs on a three-node kind cluster
	@PACELINE_E2E_SOAK_SECONDS=$${PACELINE_E2E_SOAK_SECONDS:-600} tests/e2e/run -k test_soak

chart: ## Copy what the chart ships from deploy/, and write its README (a test compares)
	@cp deploy/crd/trainingjobs.yaml deploy/prometheus/rules.yaml charts/paceline/files/
	@cp deploy/grafana/*.json charts/paceline/files/dashboards/
	@/usr/bin/python3 tools/chart_readme.py

lint: verify $(BUILD)/build.ninja ## Everything of verify, and clang-tidy, which is slow (ONLY=lib/sync narrows it)
	@tools/build $(BUILD) --jobs $(JOBS)
	@tools/source_commands.py $(BUILD)
	@$(SOURCES) | grep '\.cc$$' | xargs -r -P $(JOBS) -n 4 clang-tidy-14 -p $(BUILD)/sources --quiet

format: ## Rewrite the sources with clang-format (ONLY=lib/sync narrows it)
	@tools/setup --lint >&2
	@$(SOURCES) | xargs -r clang-format-14 -i

verify: ## Check format, floors, sleeps in tests, documents and the chart (kubeconform, kube-score)
	@tools/setup --lint >&2
	@/usr/bin/python3 tools/lint_layers.py
	@/usr/bin/python3 tools/lint_sleeps.py
	@/usr/bin/python3 tools/check_docs.py
	@tests/cluster/cluster build helm kubeconform kube-score || [ $$? = 77 ]
	@/usr/bin/python3 tests/deploy/chart_lint.py || [ $$? = 77 ]
	@$(SOURCES) | xargs -r clang-format-14 --dry-run -Werror

test-asan test-tsan: test-%:
	@tools/setup --packages >&2
	@$(MAKE) --no-print-directory kubernetes
	@cmake --preset $* >&2
	@TIMEFORMAT='built in %0lR' && time cmake --build --preset $* -j $(JOBS) >&2
	@tests/run build/$* --preset $* -j $(JOBS)

test-asan: ## Build and test what needs no LibTorch with the address and undefined-behaviour sanitizers
test-tsan: ## The same with the thread sanitizer

crd: $(BUILD)/build.ninja ## Rewrite deploy/crd, the chart's copy and docs/trainingjob.md from the fields of lib/job
	@tools/build $(BUILD) --jobs $(JOBS) job_test
	@PACELINE_REWRITE=1 $(BUILD)/tests/job_test --gtest_brief=1 --gtest_filter='Crd.File*:Docs.*'
	@cp deploy/crd/trainingjobs.yaml charts/paceline/files/
	@$(MAKE) --no-print-directory chart

clean: ## Remove what was built (the caches of setup and ccache stay)
	rm -rf $(BUILD) build/asan build/tsan build/dev build/ci

setup: ## Install what is missing: Debian packages, LibTorch, a Python with PyTorch for tests and benches
	@tools/setup $(SETUP) >&2

# Later changes of the CMake files are ninja's own business.
$(BUILD)/build.ninja: CMakePresets.json | setup
	@cmake --preset release >&2
	@touch $@
