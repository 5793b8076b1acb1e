#!/bin/sh
# scripts/demo: shows it all on a machine with nothing prepared, and leaves
# nothing running.
. "${0%/*}/lib.sh"
HOOK_DEMO_RUN=$work/run
export HOOK_DEMO_RUN
unset PGHOST PGPORT PGUSER PGDATABASE PGPASSWORD HOOK_ALLOW_NET

left() {	# What still runs for it.
	for p in /proc/[0-9]*; do
		grep -Fsla "$work/run" "$p/cmdline"
	done
	ls "$work"/run/pg/data/postmaster.pid 2>/dev/null
}

run "$top/scripts/demo"
exits 0 'it succeeds' || cat "$work"/run/*.log >&2
is "$(grep -c . "$work/err")" 0 '... without a complaint'
like "$(cat "$work/out")" '58 of 58 arrived byte for byte' \
    '... every event came as it was stored'
like "$(cat "$work/out")" '^The customer checked .* 68 req.*: 0 bad' \
    '... with a signature that the customer accepts'
like "$(cat "$work/out")" 'standardwebhooks and svix say the same' \
    '... and so do libraries that are not ours'
[ "$(wc -l <"$work/out")" -le 40 ]
check '... told in a screenful'
is "$(left)" '' '... and nothing is left running'

start "$top/scripts/demo" -k
wait_for 60 'grep -q "It is running" "$out" || ! kill -0 $pid 2>/dev/null'
(
	. "$work/run/env"
	hook-sub list
) >"$work/subs"
is "$(jq -r .name "$work/subs" | sort | xargs)" 'archive billing triage' \
    'again, with -k, it can be used from another terminal'
stop
is "$rc" 143 '... until it is ended'
is "$(left)" '' '... and then nothing is left running'

run "$top/scripts/demo" -x
exits 64 'an unknown option is a usage error'

done_testing
