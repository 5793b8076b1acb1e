#!/bin/sh
# What a database, a role, or the names in it may be like: nothing that is
# set there changes what the tools store, send or print.
. "${0%/*}/lib.sh"
. "${0%/*}/engine.sh"
need_cluster

# Everything once, with what tends to break: backslashes, quotes, \u0000.
# The ids, times and ports in what is printed are taken out.
whole() {	# NAME [VARIABLE=VALUE ...]
	(
		name=$1
		shift
		for s; do
			export "${s?}"
		done
		hook-migrate || exit
		# For hook-doctor to find on any server, and not only on those
		# up to PostgreSQL 14.
		PGOPTIONS='-c client_min_messages=warning' psql -X -q <<-'EOT'
			revoke create on schema public from public;
			select format('grant select on %s to public',
			    oid::regclass) from pg_class
			where relname = 'webhook_outbox' \gexec
		EOT
		for t in 'a.* b\c' 'a.* other'; do
			hook-sub add -e "${t% *},${t#* }" -H 'X-A: b\c' \
			    -f '$.n > 0' -k "$work/secret" \
			    "$sink/$name" || exit
		done
		printf %s '{"n":1, "s":"x\\y\u0041 \u0000"}' |
		    hook-enqueue -t a.b -a 'a\1' -k 'k\1' || exit
		for i in 1 2; do
			printf %s '{"n":1.0,"n":2}' |
			    hook-enqueue -t a.b -a 'a\1' -k 'k\2' || exit
		done
		printf '%s\n' '{"event_type":"b\\c","payload":{"n":3}}' |
		    hook-enqueue -l || exit
		hook-fanout && hook-deliver || exit
		hook-dlq list || exit
		id=$(hook-dlq list | jq -r .id | head -n 1)
		hook-dlq show -o json "$id" || exit
		hook-dlq drop -m 'w\y' "$id" || exit
		hook-dlq list | hook-dlq retry -m 'w\y' - || exit
		hook-fanout && hook-deliver || exit
		hook-replay --force --state delivered --since 2020-01-01 &&
		    hook-deliver || exit
		hook-prune -k outbox=1d || exit
		hook-stat -o table | grep -c . || exit
		hook-doctor | jq -r 'select(.check |
		    IN("roles", "grants", "tls", "schema", "plans"))'
		hook-reconcile || exit
	) >"$work/said" 2>"$work/err"
	rc=$?
	sed -e 's/evt_[0-9a-f]*/E/g' -e 's/[0-9-]*T[0-9:.]*Z/T/g' \
	    -e 's/[0-9-]*T[0-9:.]*+00:00/T/g' -e 's/"duration_ms":[0-9]*/D/g' \
	    -e "s,/$1,/P,g" -e "s/$db/DB/g" -e 's/_20[0-9]\{6\}/_DAY/g' \
	    -e 's/ 00:00:00.*//' -e 's/[a-z0-9-]*:[0-9]*:[0-9a-f]*/W/' \
	    "$work/said" >"$work/$1"
}

sink <<'EOT'
* * status 200
EOT
export PGDATABASE=postgres

run_in() {	# NAME [VARIABLE=VALUE ...]
	export PGDATABASE="$db"
	whole "$@"
	export PGDATABASE=postgres
}

db=t_plain
sql "create database $db template template0"
run_in plain
is "$rc $(cat "$work/err")" '0 ' 'a plain database, to compare with'
is "$(seen /plain)" 8 '... in which things are sent'

n=0
while IFS='|' read -r settings; do
	n=$((n + 1)) db=t_set$n
	sql "create database $db template template0"
	printf '%s\n' "$settings" | tr ';' '\n' | while read -r s; do
		sql "alter database $db set $s"
	done
	run_in set$n
	is "$rc $(cat "$work/err")" '0 ' "$settings: as well"
	is "$(diff "$work/plain" "$work/set$n" | head -n 10)" '' \
	    '... and all that is said is the same'
	is "$(seen /set$n)" 8 '... and sent'
done <<'EOT'
standard_conforming_strings = off; backslash_quote = off
array_nulls = off; transform_null_equals = on; quote_all_identifiers = on
DateStyle = 'German, DMY'; timezone = 'Asia/Kolkata'; IntervalStyle = iso_8601
bytea_output = escape; extra_float_digits = -10; synchronous_commit = off
default_transaction_isolation = serializable
default_transaction_deferrable = on; idle_in_transaction_session_timeout = 50
statement_timeout = 100; lock_timeout = 10
search_path = pg_temp; client_encoding = LATIN1; client_min_messages = debug5
EOT

db=t_plain PGDATABASE=t_plain
for name in "My \"Odd\" sch$(printf '\303\244')" "o'x\\y\$z%s"; do
	n=$((n + 1))
	run_in set$n HOOK_SCHEMA="$name" PGCLIENTENCODING=LATIN1
	is "$rc $(cat "$work/err")" '0 ' "a schema named $name: as well"
	is "$(diff "$work/plain" "$work/set$n" | head -n 10)" '' \
	    '... and all that is said is the same'
	is "$(seen /set$n)" 8 '... and sent'
done

done_testing
