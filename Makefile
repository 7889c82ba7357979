# tokwatt needs no Makefile: go build ./cmd/tokwatt, go test ./...
# These are the checks around it. CI (.ci/run) runs most of them as its steps.

SHELL := /bin/bash
CACHE := $(CURDIR)/.cache
GO := go
PYTHON = "$$(scripts/python.sh "$(CACHE)")"
SPARK_PYTHON = "$$(scripts/python.sh "$(CACHE)" spark.txt)"

# SIZE=ci takes minutes in all; SIZE=full takes as long as it takes.
SIZE ?= full
# FAMILY of models for oracle: one of them, today's, or all where it is empty.
FAMILY ?= $(if $(filter ci,$(SIZE)),today)

.PHONY: help build tidy lint cross test nocgo sensors-fake race python mlx-lib models kill stats parity mlx-speed oracle exo-parity serve-parity spark demo report-check e2e bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "%-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## the binary, as .cache/tokwatt
	$(GO) build -o $(CACHE)/tokwatt ./cmd/tokwatt

tidy: ## go.mod names what the code needs, no more and no less
	$(GO) mod tidy -diff

lint: ## gofmt, vet, staticcheck
	@unformatted=$$(git ls-files -z '*.go' | xargs -0 gofmt -l) && [ -z "$$unformatted" ] || { echo "not formatted: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

cross: ## build and vet for a Mac without cgo
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) build ./...
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) vet ./...

test: ## all tests
	$(GO) test -count=1 ./...

# What this build does in a way of its own; the rest of what it can is the same.
WITHOUT_SQL := ^Test(WithoutSQL|Archive|Check|Export|Import|List|Show|NoMLX|ExitCodes)
nocgo: ## the build without DuckDB: tests of the packages that it changes
	CGO_ENABLED=0 $(GO) build ./...
	CGO_ENABLED=0 $(GO) test -count=1 $(if $(filter ci,$(SIZE)),-run '$(WITHOUT_SQL)') ./cmd/tokwatt
	CGO_ENABLED=0 $(GO) test -count=1 ./analyze/duck/... ./collect/inproc ./mlx/... ./power/...
	CGO_ENABLED=0 $(GO) test -count=1 -tags mlx ./mlx ./mlx/internal/... ./mlx/model ./mlx/engine

sensors-fake: ## the bindings to sensors' libraries, a Mac's and NVIDIA's, against fakes of them in C
	CGO_ENABLED=0 $(GO) test -count=1 -tags iokitfake ./power/ioreport
	$(GO) test -count=1 -tags nvml ./power/nvidia
	$(GO) vet -tags iokitfake,nvml ./power/ioreport ./power/nvidia
	$(GO) tool staticcheck -tags iokitfake,nvml ./power/ioreport ./power/nvidia

# DuckDB is one library of C++, which the race detector does not look into. Of
# the program those tests run under it in which things happen at once; the
# others start it to look at what it prints.
# CI has the packages in which most happens at once, the full size all.
AT_ONCE := ^Test(Interrupt|Kill|Resume|TwoCollectors$(if $(filter full,$(SIZE)),|Calibrate$$|CollectAsks|CollectReads|Commands|Serve$$|SuiteRuns|SummaryBeside|PowerWatch))
RACE := ./collect ./collect/inproc ./collect/openai ./collect/wire ./mlx/engine ./mlx/serve ./power ./power/child
RACE += $(if $(filter full,$(SIZE)),./collect/calibrate ./collect/exo ./collect/find ./collect/host ./collect/ollama ./collect/prompt ./collect/prompt/tokenizer ./collect/script ./mlx/... ./power/...)
race: ## the packages that start goroutines, under the race detector
	$(GO) test -count=1 -race $(RACE)
	$(GO) test -count=1 -race -run '^TestExport' ./analyze
	$(GO) test -count=1 -race -skip '^Test(Truncated|Flipped)' ./store
	$(GO) test -count=1 -race -run '$(AT_ONCE)' ./cmd/tokwatt

python: ## a virtual environment with what the next targets compare with, in .cache
	@scripts/python.sh "$(CACHE)"

mlx-lib: ## MLX's library for the embedded engine, MLX=0.32.2 of it, in .cache
	@scripts/mlx-lib.sh "$(CACHE)" $(MLX)

models: ## the model folders for e2e, in .cache
	scripts/models.sh $(PYTHON) $(CACHE)/models

kill: ## a writer of the store, archive and compact killed at random instants, a store damaged everywhere
	$(GO) test -count=1 -v -run '^TestKill' ./store -args -kills $(if $(filter ci,$(SIZE)),50,1000)
	$(if $(filter full,$(SIZE)),$(GO) test -count=1 -timeout 2h ./store -args -exhaustive)
	$(GO) test -count=1 -run "TestKilledArchives|TestBesideEachOther" ./cmd/tokwatt -args -kills $(if $(filter ci,$(SIZE)),50,300)

stats: ## the statistics against numpy and scipy
	$(PYTHON) scripts/check_stats.py

parity: models ## the embedded engine's logits against mlx_lm's, in plain Go and with MLX
	TOKWATT_MLX_PY=$(PYTHON) TOKWATT_MLX_LIB="$$(scripts/mlx-lib.sh "$(CACHE)")" TOKWATT_MLX_MODEL="$(CACHE)/models/smollm2" \
		$(GO) test -count=1 -v -run '^TestParity' ./mlx/model
	TOKWATT_MLX_LIB="$$(scripts/mlx-lib.sh "$(CACHE)" 0.31.2)" $(GO) test -count=1 ./mlx ./mlx/internal/...

mlx-speed: models ## processor time of the embedded engine with MLX beside mlx_lm's
	$(GO) test -c -o $(CACHE)/engine.test ./mlx/engine
	for model in synthetic smollm2; do \
		HF_HUB_OFFLINE=1 TOKWATT_MLX_LIB="$$(scripts/mlx-lib.sh "$(CACHE)")" $(PYTHON) scripts/mlx_speed.py $(CACHE)/engine.test $(CACHE)/models/$$model || exit; \
	done

oracle: ## token ids and prompts' lengths against the reference libraries', of all families of models or of FAMILY=qwen3
	scripts/oracle/run.sh $(PYTHON) $(CACHE) $(FAMILY)
	scripts/oracle/end_to_end.sh $(PYTHON) $(CACHE) $(FAMILY)

exo-parity: build ## exo-bench (EXO_SOURCE=its checkout) and tokwatt on one sweep: their results files agree
	$(PYTHON) scripts/exo_parity.py --tokwatt $(CACHE)/tokwatt --work $(CACHE)/exo-parity $(if $(filter full,$(SIZE)),--full)

serve-parity: build ## exo-bench (EXO_SOURCE=its checkout) against tokwatt serve: its results file has what the server's log has
	TOKWATT_MLX_LIB="$$(scripts/mlx-lib.sh "$(CACHE)")" $(PYTHON) scripts/serve_parity.py --tokwatt $(CACHE)/tokwatt --work $(CACHE)/serve-parity

# DATASET is an archive to compare over; without it SIZE=ci makes five sessions,
# SIZE=full a thousand with 5 M requests.
spark: build ## Spark and other engines against tokwatt query: every cell of all tables and views (Java 17; DATASET=its folder)
	$(if $(DATASET),,$(if $(filter ci,$(SIZE)),rm -rf $(CACHE)/spark-ci && $(GO) test -count=1 ./analyze -run '^TestEmitDataset$$' -args -emit-dataset $(CACHE)/spark-ci,$(GO) run ./analyze/analyzetest/fleet --out $(CACHE)/spark-full))
	$(SPARK_PYTHON) scripts/check_spark.py --tokwatt $(CACHE)/tokwatt --dataset $(or $(DATASET),$(CACHE)/spark-$(SIZE))

demo: build ## tokwatt demo in an empty folder: its time and what it leaves
	scripts/demo.sh $(CACHE)/tokwatt

# SIZE=ci opens two pages with all that a page can hold, and one without, in two
# looks of four, within a minute; SIZE=full all pages in all looks, and prints them.
REPORT_CHECK := $(CACHE)/report-check
REPORT_PAGES = $(if $(filter ci,$(SIZE)),$(patsubst %,$(REPORT_CHECK)/pages/%.html,fleet hostile failed),$(REPORT_CHECK)/pages/*.html)
report-check: $(if $(filter full,$(SIZE)),build) ## reports in a headless Chromium (CHROME=its path): light and dark, wide and narrow, with axe-core; pictures in .cache/report-check
	rm -rf $(REPORT_CHECK) && mkdir -p $(REPORT_CHECK)/pages
	cd $(CACHE) && { [ -f axe-core-4.14.1.tgz ] || npm pack --silent axe-core@4.14.1; } && tar xzf axe-core-4.14.1.tgz -C $(REPORT_CHECK) package/axe.min.js
	$(if $(filter full,$(SIZE)),$(CACHE)/tokwatt demo --out $(REPORT_CHECK)/demo && $(CACHE)/tokwatt report --db $(REPORT_CHECK)/demo/tokwatt.db --out $(REPORT_CHECK)/pages/demo.html)
	$(GO) test -count=1 ./cmd/tokwatt -run '^TestReportPages$$' -args -emit-reports $(REPORT_CHECK)/pages
	python3 scripts/report_check.py --size $(SIZE) --out $(REPORT_CHECK) --axe $(REPORT_CHECK)/package/axe.min.js $(REPORT_PAGES)

e2e: build models ## tokwatt against mlx_lm.server, its times against a raw socket reader's
	$(PYTHON) scripts/e2e.py --tokwatt $(CACHE)/tokwatt --models $(CACHE)/models --work $(CACHE)/e2e $(if $(filter full,$(SIZE)),--full)

bench: ## every speed that is claimed
	$(GO) test -run '^$$' -bench . -benchmem ./...

clean: ## forget what these targets made
	rm -rf $(CACHE)
