#!/bin/sh
# Checks the project's Go modules and npm packages against databases of security advisories. It fails if one is
# affected. An unreachable database is not a failure: the script reports what was not checked.
set -eu
cd "$(dirname "$0")/.."
failed=0

# unchecked WHAT WHY
unchecked() { echo "advisories: $1 NOT CHECKED: $2" >&2; }

database=${GOVULNDB:-https://vuln.go.dev}
if curl -sfL -m 20 -o /dev/null "$database/index/modules.json"; then
	for module in . tools/release; do
		# govulncheck exits with 3 for an advisory whose code is called.
		(cd "$module" && go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 -db "$database" ./...) || failed=1
	done
else
	unchecked "Go modules" "$database cannot be reached"
fi

for lock in $(git ls-files '*package-lock.json'); do
	directory=${lock%/*}
	# npm audit exits with 1 both for advisories and without a network, so its output decides.
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
