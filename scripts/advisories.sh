#!/bin/sh
# Asks the databases of security advisories about the Go modules and npm packages that the project uses. It fails where
# one is affected. A database that cannot be reached, as without a network, is no failure: it says what was not checked.
set -eu
cd "$(dirname "$0")/.."
failed=0

# unchecked WHAT WHY
unchecked() { echo "advisories: $1 NOT CHECKED: $2" >&2; }

database=${GOVULNDB:-https://vuln.go.dev}
if curl -sfL -m 20 -o /dev/null "$database/index/modules.json"; then
	for module in . tools/release; do
		# It exits with 3 for an advisory whose code is called.
		(cd "$module" && go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 -db "$database" ./...) || failed=1
	done
else
	unchecked "Go modules" "$database cannot be reached"
fi

for lock in $(git ls-files '*package-lock.json'); do
	directory=${lock%/*}
	# With advisories it exits with 1 as it does without a network, so what it says decides.
	report=$(cd "$directory" && npm audit --json 2>/dev/null) || :
	case $(printf '%s' "$report" | tr -d ' \n') in
	*'"critical":0,"total":0}'*) echo "advisories: $directory: none" ;;
	*'"auditReportVersion"'*)
		(cd "$directory" && npm audit) || :
		failed=1
		;;
	*) unchecked "$directory" "npm's registry gives no advisories here" ;;
	esac
done
exit $failed
