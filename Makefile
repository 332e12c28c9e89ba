# SPDX-License-Identifier: MIT
#
# A thin front door to Meson and Ninja. Ninja runs in parallel by itself, so the steps here keep their order.

.NOTPARALLEL:
.DEFAULT_GOAL := build
.PHONY: build asan packages test-packages notice-packages site run test test-quick bench bench-live bench-explore firefox verify variants stories torment torment-guards fuzz scarcity format lint install clean help explore-walks

BUILD := build
ASAN := build-asan
WASM := src/explore/conclave.wasm
PREFIX ?= /usr/local

# $(call quietly,DIRECTORY,COMMAND): its output is shown only if it fails.
quietly = mkdir -p $(1) && { $(2) >$(1)/make.log 2>&1 || { cat $(1)/make.log >&2; exit 1; }; }

# $(call compile,DIRECTORY,TARGET): all, or that target. On a terminal Ninja shows how far it has come, elsewhere a line
# tells that there is something to do.
compile = if [ -t 1 ]; then ninja -C $(1) $(2); else \
	  ninja -n -C $(1) $(2) | grep -q 'no work to do' || echo 'building $(1); a minute or two'; \
	  $(call quietly,$(1),ninja --quiet -C $(1) $(2)); fi

# `make run` and `make test` install what is missing; the other targets only say so.
have_tools = command -v meson >/dev/null && command -v ninja >/dev/null || scripts/install-packages --check

build: $(BUILD)/build.ninja ## build/conclave
	@$(call compile,$(BUILD))

asan: $(ASAN)/build.ninja ## the same under ASan and UBSan, in build-asan
	@$(call compile,$(BUILD),$(WASM))
	@$(call compile,$(ASAN))

$(BUILD)/build.ninja:
	@$(have_tools)
	@$(call quietly,$(BUILD),meson setup $(BUILD) --prefix=$(PREFIX))

$(ASAN)/build.ninja: | $(BUILD)/build.ninja
	@$(have_tools)
	@$(call compile,$(BUILD),$(WASM))
	@$(call quietly,$(ASAN),meson setup $(ASAN) -Db_sanitize=address$(comma)undefined -Doptimization=1 -Dwasm=$(abspath $(BUILD))/$(WASM))

comma := ,

# Without npm's registry the program is built without the explorer's page.
packages: ## install what is missing
	@scripts/install-packages
	@scripts/npm-packages || true

test-packages:
	@scripts/install-packages test browser site
	@scripts/npm-packages --dev || true

run: packages $(BUILD)/build.ninja ## five processes elect, fail over and take turns
	@$(call compile,$(BUILD),conclave)
	@$(BUILD)/conclave demo

# A build that was set up before test-packages had installed MPI and METIS does not know of them, and remembers that.
notice-packages:
	@for build in $(BUILD) $(ASAN); do \
	  if [ -e $$build/build.ninja ] && [ ! -e $$build/conclave-openmpi.so ] && pkg-config --exists ompi-c; then \
	    said=$$(meson setup --wipe $$build 2>&1) || { echo "$$said" >&2; exit 1; }; fi; done

test: test-packages notice-packages build ## all tests, and the quick ones again under the sanitizers; TIMES=FILE tells what each takes
	@scripts/run-tests $(TIMES:%=--times %) $(BUILD) $(ASAN):quick=asan

test-quick: build ## the quick tests of the ordinary build
	@scripts/run-tests $(TIMES:%=--times %) $(BUILD):quick

site: build ## all docs as static pages, in build/site/html
	@scripts/install-packages --check site
	@python3 site/build.py $(BUILD)/site --conclave $(abspath $(BUILD)/conclave)
	@echo "$(BUILD)/site/html/index.html"

bench: build ## speed, beside SimGrid and SPIN where they are installed
	@CONCLAVE=$(BUILD)/conclave python3 bench/sim
	@CONCLAVE=$(BUILD)/conclave python3 bench/check

variants: build ## break algorithms at random: no reduction may change a verdict; half an hour
	@CONCLAVE=$(BUILD)/conclave tests/variants.py --count 220 --patience 60 --table

explore-walks: build ## 100,000 random walks of the explorer, natively and as WebAssembly; a quarter of an hour
	@CONCLAVE=$(BUILD)/conclave python3 tests/explore.py --wasm-walks 100000

verify: build ## check every algorithm and write docs/verified.md; an hour, up to 16 GB
	@CONCLAVE=$(BUILD)/conclave scripts/verify

bench-live: build ## speed of live locks, beside Redis and etcd where they are installed
	@CONCLAVE=$(BUILD)/conclave python3 bench/live/bench.py

bench-explore: build ## how long a step of the explorer's page takes, in Chromium; a few minutes
	@scripts/install-packages --check browser
	@CONCLAVE=$(abspath $(BUILD)/conclave) node bench/explore/bench.js

firefox: build ## the explorer's page in Debian's firefox-esr, if it is installed
	@CONCLAVE=$(abspath $(BUILD)/conclave) node tests/browser/firefox.js || [ $$? -eq 77 ]

stories: build ## groups in virtual time with everything that can go wrong, ten times as many as `make test`; ten minutes
	@$(BUILD)/tests/agreement --stories 30000 --seed 200001
	@$(BUILD)/tests/agreed_views --sabotage --stories 15000 --seed 200001
	@$(BUILD)/tests/agreed_views --tied --sabotage --stories 15000 --seed 200001

torment: build ## the fault campaign; TORMENT="--minutes 30" and the like are its options
	@CONCLAVE=$(BUILD)/conclave torment/run $(TORMENT)

torment-guards: build ## 10,000 holders of locks are stopped beyond their time and woken, with guards and without; five minutes
	@CONCLAVE=$(BUILD)/conclave torment/guards $(TORMENT)

fuzz: ## the fuzzers, a minute each; FUZZ="--seconds 600 letters raft" and the like are their options
	@python3 tests/fuzz.py $(if $(FUZZ),$(FUZZ),--seconds 60)

scarcity: build ## nodes, clients and tools whose memory or descriptors run out, place by place; a quarter of an hour
	@CONCLAVE=$(abspath $(BUILD)/conclave) CONCLAVE_SCARCITY=$(abspath $(BUILD)/tests/scarcity.so) python3 tests/scarcity.py --long

conformance-mutants: build ## break the clients line by line: the conformance suite has to notice; ten minutes
	@CONCLAVE=$(abspath $(BUILD)/conclave) CONCLAVE_BUILD=$(abspath $(BUILD)) python3 tests/client/conformance_mutants.py

format: ## rewrite the C files in the house style
	@python3 tests/format.py --fix

lint: build ## clang-format, clang-tidy and the house rules
	@python3 tests/tidy.py
	@python3 tests/format.py
	@CONCLAVE_BUILD=$(BUILD) python3 tests/clang_tidy.py --analyzer

install: build ## under PREFIX, inside DESTDIR
	@$(call quietly,$(BUILD),meson configure $(BUILD) --prefix=$(PREFIX))
	@$(call quietly,$(BUILD),meson install -C $(BUILD) $(if $(DESTDIR),--destdir "$(abspath $(DESTDIR))"))

clean: ## remove both builds
	@rm -rf $(BUILD) $(ASAN)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 14
