#!/bin/sh
# hook-consume -e and --sql: what a handler prints and the ack of its message
# are one commit, or nothing.
. "${0%/*}/lib.sh"
need_db
sql "insert into webhook_sources (name, scheme) values ('s', 'github')"
sql "create table public.shop (n integer primary key
    deferrable initially deferred, note text)"

n=0
put() {		# leaves $m
	n=$((n + 1))
	m=m$n
	sql "insert into webhook_inbox (source, message_id, body)
	    values ('s', '$m', '{\"n\":1}')"
}
row() {
	sql "select $1 from webhook_inbox where message_id = '$m'"
}
prints() {	# [option ...]: a handler that prints standard input, and $with
	{
		echo '#!/bin/sh'
		echo 'cat <<\EOT'
		cat
		echo EOT
		echo "${with-}"
	} >"$work/handler"
	chmod +x "$work/handler"
	run timeout 60 hook-consume -s s "$@" -- "$work/handler"
}
events() {
	sql 'select count(*) from webhook_outbox'
}

put
prints -e <<'EOT'
{"event_type":"order.paid","aggregate_id":"o1","payload":{"n": 1.0}}
{"event_type":"order.sent","payload":{},"idempotency_key":"k"}
EOT
is "$rc $(row state) $(cat "$work/out")" '0 done ' 'events and ack'
is "$(sql 'select event_type, payload from webhook_outbox order by id')" \
    'order.paid|{"n": 1.0}
order.sent|{}' '... are stored, byte for byte'
put
prints -e </dev/null
is "$rc $(row state) $(events)" '0 done 2' 'who prints nothing is acked, too'

while IFS='|' read -r why with line want; do
	put
	printf '%b' "$line" >"$work/lines"
	prints -e -S 1h <"$work/lines"
	is "$rc $(row 'state, failures')" '0 pending|1' "a failure: $why"
	like "$(row last_error)" "$want" '... which is named'
	is "$(events)" 2 '... and nothing was stored'
done <<'EOT'
died after printing|exit 1|{"event_type":"x","payload":1}\n|^exit status 1$
killed after printing|kill -9 $$|{"event_type":"x","payload":1}\n|^killed by signal 9$
a bad line|:|{"event_type":"x","payload":1}\n{"event_type":"x"}\n|^standard output: line 2: no payload$
no JSON|:|{"event_type":"x","payload":1}\nhello\n|^standard output: line 2: not a JSON object$
bad JSON|:|{"event_type":"x","payload":01}\n|^standard output: line 1: .*json
half a line|printf "{\\"event_type\\":\\"x\\",\\"payl"|{"event_type":"x","payload":1}\n|^standard output: line 2: not a JSON object$
EOT
put
with='exit 75' prints -e -S 1h <<'EOT'
{"event_type":"x","payload":1}
EOT
is "$(row 'state, failures') $(events)" 'pending|0 2' \
    'with 75 nothing is stored, and it is no failure'
put
run timeout 60 hook-consume -s s -e -S 1h -- sh -c 'exec yes'
like "$(row last_error)" '^standard output: more than [0-9]+ bytes$' \
    'who prints without end is stopped'
put
with='sleep 30' prints -e -w 300ms -S 1h <<'EOT'
{"event_type":"x","payload":1}
EOT
is "$(row last_error) $(events)" 'timed out 2' 'a timeout stores nothing'

# SQL
shop() {
	sql 'select count(*) from shop'
}
put
prints --sql <<'EOT'
insert into shop values (1, 'a; b');
create temporary table t (n integer);
insert into t values (2);
insert into shop select n, '' from t;
EOT
is "$rc $(row state) $(shop)" '0 done 2' 'rows of a handler and the ack'
is "$(sql "select count(distinct xmin) from (select xmin::text from shop
    union all select xmin::text from webhook_inbox
    where message_id = '$m') x")" 1 '... are one transaction'
while IFS='|' read -r why line want; do
	put
	printf '%b' "insert into shop values (9, '');\n$line\n" >"$work/lines"
	prints --sql -S 1h <"$work/lines"
	is "$rc $(row 'state, failures') $(shop)" '0 pending|1 2' \
	    "a failure, and nothing is stored: $why"
	like "$(row last_error)" "^standard output: $want|^$want" \
	    '... which is named'
done <<'EOT'
a failing statement|select 1/0;|division by zero$
no SQL|hello;|syntax error
commit|commit;|EXECUTE of transaction commands is not implemented
commit and on|commit; insert into shop values (10, '');|EXECUTE of transaction
rollback|rollback;|EXECUTE of transaction commands
begin|begin;|EXECUTE of transaction commands
a savepoint|savepoint x; rollback to x;|EXECUTE of transaction commands
prepared|prepare transaction 'x';|EXECUTE of transaction commands
a procedure that commits|do $$ begin commit; end $$;|invalid transaction
copy|copy shop from stdin;|
copy out|copy shop to stdout;|
a key at commit|insert into shop values (1, '');|duplicate key
half a statement|insert into shop values (10, 'x|unterminated quoted string
the transaction read only|set transaction_read_only = on;|
too long|select pg_sleep(600);|canceling statement due to statement timeout
EOT
put
with='printf "\\000;"' prints --sql -S 1h </dev/null
is "$(row last_error)" 'standard output: NUL byte' 'a NUL is a failure'
put
prints --sql <<'EOT'
set role webhook_viewer;
set search_path = pg_catalog;
set enable_seqscan = off;
set statement_timeout = '900ms';
set lock_timeout = '900ms';
select pg_advisory_lock(1);
set default_transaction_read_only = on;
deallocate all;
EOT
is "$rc $(row state)" '0 done' 'what is set for the session'
cat >"$work/handler" <<'EOT'
#!/bin/sh
case $HOOK_INBOX_ID in
*[13579]) echo "set role webhook_viewer; set search_path = pg_catalog;
    create temporary table if not exists t ();
    set statement_timeout = '900ms'; select pg_advisory_lock(1);" ;;
*) echo "insert into shop values ($HOOK_INBOX_ID, (select count(*) from
    pg_locks where locktype = 'advisory' and pid = pg_backend_pid())
    || current_setting('statement_timeout') || current_user
    || coalesce(to_regclass('t')::text, ''))" ;;
esac
EOT
for i in 1 2 3 4; do
	put
done
run timeout 60 hook-consume -s s --sql -l 40s -- "$work/handler"
is "$rc $(sql "select count(*) from webhook_inbox where message_id in
    ('m$n', 'm$((n - 1))', 'm$((n - 2))', 'm$((n - 3))')
    and state = 'done'")" '0 4' '... and prepared or locked'
is "$(sql "select distinct note from shop where n > 2")" "020s$PGUSER" \
    '... is gone for the next one'

# A consumer that lost its lease commits nothing of what its handler printed.
cat >"$work/handler" <<EOT
#!/bin/sh
echo '{"event_type":"late","payload":1}'
psql -X -q -c "update webhook_inbox set owner = 'other', fence = fence + 1,
    leased_until = now() + interval '1 h' where message_id = 'm$((n + 1))'"
EOT
put
run timeout 60 hook-consume -s s -e -- "$work/handler"
is "$rc $(row 'state, owner') $(events)" '0 pending|other 2' \
    'who lost the message stores nothing'
put
sql "insert into webhook_counters values ('consumed', 's', 'done', 0, 0)
    on conflict do nothing"
sql "create function no_ack() returns trigger language plpgsql as
    'begin raise exception ''no ack''; end'"
sql "create trigger no_ack before update on webhook_inbox for each row
    when (new.state = 'done') execute function no_ack()"
cat >"$work/handler" <<'EOT'
#!/bin/sh
echo '{"event_type":"late","payload":1}'
EOT
run timeout 60 hook-consume -s s -e -S 1h -- "$work/handler"
is "$(row state) $(events)" 'pending 2' 'where the ack fails nothing is stored'

done_testing
