#!/bin/sh
# No warning of two compilers, of shellcheck or of mandoc.
. "${0%/*}/lib.sh"
MAKEFLAGS=
export MAKEFLAGS

for tool in gcc shellcheck mandoc; do
	command -v $tool >/dev/null
	check "$tool is there"
done
run "$top/scripts/lint"
is "$(cat "$work/out" "$work/err")" '' 'scripts/lint has nothing to say'
exits 0 '... and exits 0'
done_testing
