.DEFAULT_GOAL := help
export CGO_ENABLED = 0
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 30s
KILLS ?= 50
BATCHES ?= 100000

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/cairn, with the verifier of proofs for the explorer's pages in it
	sh proof/wasm/build.sh internal/server/explorer/verifier
	go build -trimpath -o bin/cairn ./cmd/cairn

release: ## make the files of release VERSION into dist/, signed with KEY if there is one (from a clone without changes; needs npm)
	cd tools/release && go build -o ../../bin/release . && ../../bin/release -source ../.. -out ../../dist -version $(VERSION) $(if $(KEY),-key $(abspath $(KEY)))

release-test: ## make a release twice, from two clones and with two compile caches, compare the bytes, install and use its files
	CACHE=own sh tools/release/test.sh

verifier: ## build the verifier of proofs for JavaScript into bin/proof
	sh proof/wasm/build.sh

docs: ## make a site of the documentation, with a search, into dist/docs
	cd tools/release && go run ./site -source ../.. -out ../../dist/docs

test: ## run every test
	sh scripts/test.sh

# $(call raced,MODULE,NONE): a module's tested packages that start goroutines, in the package or in its tests: others
# have no races. It leaves out e2e, whose tests run a program built without the detector.
raced = $$(cd $(1) && git grep -lE '^\s*go |\.Go\(|AfterFunc\(|Parallel\(|parallel\.|httptest\.|synctest\.' -- '*.go' | sed 's,/[^/]*$$,,' | \
	sort -u | grep -vE '^($(2))(/|$$)' | while read -r dir; do ! git ls-files "$$dir/*_test.go" | grep -q . || echo "./$$dir"; done)
# -short leaves out long tests that run on one goroutine. The code was vetted before. With the tag the database
# compresses in Go, as in a program built without C.
RACE = -race -short -vet=off -tags pebblegozstd

race: ## run the tests under the race detector (needs a C compiler) where something runs side by side, but for e2e and long ones
	CGO_ENABLED=1 go test $(RACE) $(call raced,.,workshop|tools)
	CGO_ENABLED=1 go -C workshop test $(RACE) $(call raced,workshop,e2e|peers)

lint: staticcheck ## check formatting, vet and staticcheck
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./...
	go -C workshop vet ./...

staticcheck: ## what lint checks beside what scripts/test.sh has checked already
	go run $(STATICCHECK) ./...
	go -C workshop run $(STATICCHECK) ./...

fuzz: ## fuzz every fuzz target for FUZZTIME each
	sh scripts/fuzz.sh $(FUZZTIME)

batches: ## hold the proofs' circuit to the tree over 100,000 random batches and as many ranges of blocks (a quarter of an hour)
	go test ./internal/protocol/blockproof -run 'RandomBatches|RandomRanges' -count 1 -timeout 3h -v -batches 100000 -ranges 100000

soundness: ## count what of false proofs is accepted: bytes, witnesses, lists, constraints, BATCHES random batches and ranges (twenty minutes)
	sh scripts/soundness.sh $(BATCHES)

advisories: ## ask whether there are security advisories on what is used (needs a network; says what it could not ask)
	sh scripts/advisories.sh

alerts: ## test the alert rules (needs promtool, which Debian has in its package prometheus)
	promtool check rules deploy/alerts.yml
	promtool test rules deploy/alerts_test.yml

provoke: build ## let each alert fire by its cause, with a node and a Prometheus (a quarter of an hour; Linux, root, prometheus)
	go -C workshop run ./provoke

balance: build ## lose replicas, members and the primary behind the shipped configurations of nginx and HAProxy (needs Linux, nginx, haproxy)
	go -C workshop run ./balance
	go -C workshop run ./balance -cluster

outage: build ## do to a cluster of three what happens to machines, with real processes (Linux, root; two hours)
	go -C workshop run ./outage -parts kills,acks,changes,promote
	go -C workshop run ./outage -parts faults

crash: ## kill a loaded node, a replica that imports, and programs that pay and watch, KILLS times in a row and check that nothing is lost or done twice
	CAIRN_KILLS=$(KILLS) go -C workshop test ./e2e -run 'Crash|TestReplicas|TestDepositsAreSeenOnce|TestEventsAreSeenOnce|TestPayoutsAreSafeToRepeat' -count 1 -timeout 30m -v -kills $(KILLS)

sim: ## simulate a primary and replicas, and the members of a cluster, with faults: SEED=n runs one seed and shows its log, SEEDS=n the seeds 1 to n; LANES=false as on a machine without
	go -C workshop test ./sim -run TestSeeds -count 1 -timeout 2h -v $(if $(LANES),-lanes=$(LANES)) $(if $(SEED),-seed $(SEED) -seeds 1,-seeds $(or $(SEEDS),1000))
	go -C workshop test ./clustersim -run TestSeeds -count 1 -timeout 24h -v -seconds 120 $(if $(SEED),-seed $(SEED) -seeds 1,-seeds $(or $(SEEDS),1000))

bench: ## measure against geth and anvil and as the state grows, into workshop/results.md (two hours); QUICK=1 only shows that it runs
	sh scripts/bench.sh

gas: ## measure what a gas of each operation takes (needs Unix; ten minutes)
	go -C workshop run ./gas

hunt: ## search for contracts that cost more than they pay, HOURS long, into workshop/hunt/worst.md (on one core; Unix)
	GOMAXPROCS=1 nice -n 19 go -C workshop test ./internal/hunt -run Agree -whole -timeout 2h
	GOMAXPROCS=1 nice -n 19 go -C workshop run ./hunt -hours $(or $(HOURS),8)

mutate: ## have the node's code and the independent judge say of CASES changed transactions and blocks whether they are valid (needs python3; SEED=n, ATTACK=orders)
	GOMAXPROCS=1 go -C workshop run ./mutate -attack $(or $(ATTACK),mutation) -seed $(or $(SEED),1) -cases $(or $(CASES),100000)

flood: build ## attack a node while honest users work on it (needs Linux; ten minutes)
	go -C workshop run ./flood -cairn ../bin/cairn

flood-free: build ## attack a node with work that costs a client nothing, while honest users work (needs Linux; twenty minutes)
	go -C workshop run ./flood -free -cairn ../bin/cairn

ruin: build ## damage a node's data directory 200 times by chance, and judge (needs Linux; as root it fills disks)
	go -C workshop run ./ruin -cairn ../bin/cairn

siege: build ## attack a producer and its replica with contracts for five minutes (needs Linux)
	go -C workshop run ./siege -cairn ../bin/cairn

generate: ## rewrite generated code and vectors
	go generate ./...
	go test ./internal/testkit -run TestVectors -update

.PHONY: advisories docs balance outage help build release release-test verifier test race lint staticcheck fuzz batches soundness alerts provoke crash sim bench gas hunt mutate flood flood-free ruin siege generate
