# Sourced by the scripts that measure with Go benchmarks; they set time, for a benchmark, and directory, for temporary
# files.

# table TITLE PACKAGE PATTERN… runs benchmarks and writes a row for each, with all its metrics.
table() {
	printf '\n%s\n\n| benchmark | figures |\n|---|---|\n' "$1"
	package=$2
	shift 2
	for pattern; do
		go test "$package" -run '^$' -bench "$pattern" -benchtime "$time" >"$directory/benchmark"
		awk '
			/^Benchmark/ {
				name = $1; sub(/-[0-9]+$/, "", name); figures = ""
				for (i = 3; i < NF; i += 2) figures = figures (figures == "" ? "" : ", ") $i " " $(i + 1)
				print "| " name " | " figures " |"
			}' "$directory/benchmark"
	done
}
