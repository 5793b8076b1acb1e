#!/bin/sh
# The bench: its table and its records are the same, a section that fails
# holds up no other, and nothing of it stays.
. "${0%/*}/lib.sh"
unset PGHOST PGPORT PGUSER PGDATABASE PGPASSWORD
mkdir "$work/tmp"
chmod 711 "$work/tmp"
cd "$work" || exit
# The real program and its words, with one real section and some of ours.
mkdir -p "$work/top/t/bench"
cp -R "$top/scripts" "$top/sql" "$work/top"
cp "$top/t/bench/lib.sh" "$top"/t/bench/[0-9]*-fanout.sh "$work/top/t/bench"
printf 'bench-tools:\n\t$(MAKE) -C %s BUILD=$(BUILD) SAN=$(SAN) $@\n' \
    "$top" >"$work/top/Makefile"
bench() {
	TMPDIR=$work/tmp run "$work/top/scripts/bench" "$@"
}
section() {	# NAME
	{
		echo '. "${0%/*}/lib.sh"'
		cat
	} >"$work/top/t/bench/$1.sh"
}
section 01-words <<'EOT'
	row -b 4 -r ge:0.5 'half' 2 /s
	row -b 4 -r le:0.4 'more' 2 /s le 3
	row 'plain' 7.25 ms
	left_out 'other' 'no time'
	row "$(median 3 1 2) $(median 4 1 3 2) $(few full quick)" 1 x
	seq 100 >"$work/n"
	row "p$(percentile 50 "$work/n") p$(percentile 99 "$work/n")" 1 x
EOT
section 02-broken <<'EOT'
	start sleep 1000
	echo "$pid" >"$TMPDIR/../left"
	false
EOT
section 03-told <<'EOT'
	die 'no such thing'
EOT
section 04-database <<'EOT'
	bench_db
	url=http://127.0.0.1:9
	subs 3
	events 20
	fan_out
	row 'deliveries' "$(sql 'select count(*) from webhook_deliveries')" x
EOT

bench -q -s none
exits 64 'a section that is not there is a usage error'
like "$(cat "$work/err")" 'there are: words ' '... that names those that are'
bench -q extra
exits 64 'so is an argument'
[ ! -e bench.ndjson ]
check '... and nothing was written'

bench -q
like "$(head -n 1 bench.ndjson)" '"quick":true.*"cpus":[0-9]' \
    'the first record is of the machine'
is "$(jq -r 'select(.section == "fanout") | "\(.name)|\(.figure) \(.unit)"' \
    bench.ndjson)" \
    "$(sed -n 's/^\(fan-out.*[^ ]\)  *\([0-9.]* [^ ]*\)  *>=.*/\1|\2/p' \
	"$work/out")" 'the table and bench.ndjson have the same figures'
is "$(jq -r 'select(.section == "fanout") | .met == (.figure >= .target)' \
    bench.ndjson | xargs)" 'true true' '... and met is what the target says'
exits 70 'a section that cannot be run makes it exit 70'
is "$(jq -r '"\(.name) \(.ratio) \(.met)"' bench.ndjson |
    sed -n '2,4p' | xargs)" 'half 0.5 true more 0.5 false plain null null' \
    '... met, not met, and no target are told apart'
like "$(grep ^half "$work/out")" ' 2 /s +>= 0.5x +0.5 +yes$' 'a row, met'
like "$(grep ^more "$work/out")" ' 2 /s +<= 3, <= 0.4x +0.5 +NO$' '... not met'
like "$(grep ^plain "$work/out")" ' 7.25 ms +- +- +-$' '... without a target'
like "$(grep ^other "$work/out")" 'left out +no time' '... left out'
grep -q '^2 2.5 quick ' "$work/out"
check 'median, and few'
grep -q '^p50 p99 ' "$work/out"
check 'percentile'
like "$(cat "$work/out")" '^told: could not be run: no such thing' \
    '... which is said, with the reason'
is "$(jq -r 'select(.failed != null) | .section' bench.ndjson | xargs)" \
    'broken told' '... and recorded'
like "$(grep ^deliveries "$work/out")" ' 60 x ' '... and the others are run'
! kill -0 "$(cat "$work/left")" 2>/dev/null
check 'what a section left running is ended'
is "$(ls "$work/tmp")" '' 'nothing is left behind'

section 02-broken <<'EOT'
	bench_db
	start sleep 1000
	echo "$pid" >"$TMPDIR/../left"
	sql 'select pg_sleep(1000)'
EOT
rm "$work/left"
TMPDIR=$work/tmp start "$work/top/scripts/bench" -q -s broken
wait_for 60 '[ -s "$work/left" ]' 'a section that takes long'
stop
is "$rc" 143 '... is interrupted'
! kill -0 "$(cat "$work/left")" 2>/dev/null
check '... with what it runs'
is "$(ls "$work/tmp")" '' '... and nothing is left behind'

done_testing
