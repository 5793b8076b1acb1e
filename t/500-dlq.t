#!/bin/sh
# hook-dlq: what gave up is listed, shown, put back or dropped; each id is
# judged alone, and what is done is audited.
. "${0%/*}/lib.sh"
. "${0%/*}/wire.sh"
need_db

# Try all that waits for the last time, until nothing does.  A subscription
# that is paused keeps what it has.
last_try() {
	hook-fanout 2>"$work/deliver.log" || gave_up
	i=0
	while [ "$(sql "select count(*) from webhook_deliveries_pending p
	    join webhook_subscriptions s on s.id = subscription_id
	    where s.state = 'active'")" != 0 ] && [ $i -lt 50 ]; do
		i=$((i + 1))
		sql "update webhook_deliveries set next_attempt_at = now(),
		    give_up_at = now() where state = 'pending';
		    update webhook_lanes set hold_until = null, failures = 0,
		    breaker = 'closed', next_due_at = now()"
		hook-deliver 2>>"$work/deliver.log" || gave_up
	done
}

gave_up() {
	ok 1 "a worker exits with $?"
	note "$(tail -n 20 "$work/deliver.log")"
	exit 1
}

# Events of a type, this many.
events() {	# TYPE N [TENANT]
	sql "select json_build_object('event_type', '$1', 'tenant', '${3-}',
	    'payload', json_build_object('n', n))
	    from generate_series(1, $2) n" | hook-enqueue -l >/dev/null || exit
}

# More dead deliveries of a subscription, of one moment.
clone() {	# SUBSCRIPTION N
	sql "insert into webhook_deliveries (outbox_id, outbox_created_at,
	    event_id, event_type, subscription_id, state, attempts,
	    give_up_at, finished_at, last_status, payload_bytes)
	    select outbox_id, outbox_created_at, event_id, event_type,
	    subscription_id, 'expired', 1, now(), now(), 500, payload_bytes
	    from (select * from webhook_deliveries where subscription_id = $1
		order by id limit 1) d, generate_series(1, $2)"
}

ids() {		# filter...
	hook-dlq list "$@" | jq -r .id | sort -n | xargs
}

sink <<'EOT'
/shop 1-3 status 503 | body \x1b[31mbusy\0\xff\xc3\xa9 \\\n
/shop 4-5 status 400 | body no
/acme 1 status 404
/still 1-2 status 500
/twice 1 status 500
/late 1 status 500
EOT
sub payment.paid "$sink/shop"
shop=$sub
sub invoice.due "$sink/acme?token=t0psecret" "tenant='acme'"
acme=$sub

events payment.paid 5
events invoice.due 1 acme
last_try
hook-dlq list >"$work/list"
is "$(jq -r '[.subscription_id, .state, .last_status] | join(" ")' \
    "$work/list" | sort | uniq -c | awk '{ print $1, $2, $3, $4 }')" \
"3 $shop expired 503
2 $shop failed 400
1 $acme failed 404" 'what gave up is listed, with why'
is "$(jq -r 'keys_unsorted | join(" ")' "$work/list" | sort -u)" \
    "$(echo id kind subscription_id tenant event_id event_type state attempts \
    last_status last_error created_at finished_at)" \
    'the keys are those that the page promises'
is "$(jq -r .finished_at "$work/list" | LC_ALL=C sort -c && echo sorted)" \
    sorted 'the oldest comes first'
is "$(jq -r 'select(.kind != "delivery" or
    (.finished_at | test("^20.*T.*Z$") | not))' "$work/list")" '' \
    'all are deliveries; times are RFC 3339'

# Filters, each against what jq picks of the whole list.
hook-enqueue -t payment.paid.late -T acme <<'EOT' >/dev/null
{}
EOT
sub payment.paid.late "$sink/late" "tenant='acme'"
last_try
sql "update webhook_deliveries set finished_at = finished_at
    - (20 - id) * interval '1 s' where finished_at is not null"
hook-dlq list >"$work/list"
middle=$(jq -r .finished_at "$work/list" | sed -n 4p)
while IFS='|' read -r options filter; do
	# shellcheck disable=SC2086
	run hook-dlq list $options
	is "$rc $(cat "$work/out")" \
	    "0 $(jq -c --arg t "$middle" "$filter" "$work/list")" \
	    "list $options"
	# shellcheck disable=SC2086
	is "$(hook-dlq count $options)" "$(wc -l <"$work/out")" \
	    '... which count counts'
done <<EOT
-s $shop|select(.subscription_id == $shop)
-s 999|empty
-T acme|select(.tenant == "acme")
-T acme -t payment.*|select(.tenant == "acme" and .last_status == 500)
-t payment.paid|select(.event_type == "payment.paid")
-t payment.*|select(.event_type | startswith("payment."))
-t payment.paid.*|select(.event_type == "payment.paid.late")
-t payment|empty
-t pay*|empty
-t payment._aid|empty
--since $middle|select(.finished_at >= \$t)
--until $middle|select(.finished_at < \$t)
--since $middle --until $middle|empty
--since 2000-01-01 --until tomorrow|.
--inbox|empty
EOT
is "$(hook-dlq list -t '*')" "$(cat "$work/list")" '* is every type'
like "$(hook-dlq list -T '')" '"tenant":""' 'the empty tenant is a tenant'
is "$(PGTZ=Pacific/Auckland PGDATESTYLE=German \
    hook-dlq count --until "$(echo "$middle" | tr TZ '  ')")" 3 \
    'a time without a zone is UTC, whatever the session would have'
run hook-dlq list -o table -s "$shop"
like "$(head -n 1 "$work/out")" '^ *id +kind +subscription_id +tenant' \
    'a table has a heading'
is "$(wc -l <"$work/out")" 6 '... and a line each'

# What one delivery went through.
id=$(ids -s "$shop" | cut -d ' ' -f 1)
run hook-dlq show "$id"
exits 0 'show'
is "$(jq -r '[.id, .state, .attempts, .last_status, .tenant,
    .subscription.id, .subscription.state, .next] | join(" ")' "$work/out")" \
    "$id expired 1 503  $shop active hook-dlq retry $id" \
    '... tells the delivery, its subscription, and what to type next'
is "$(jq -r '.attempt_log[] | [.attempt, .status, .response] | join(" ")' \
    "$work/out")" '1 503 \x1b[31mbusy\x00\xff\xc3\xa9 \\\n' \
    '... and each attempt, with what was answered, escaped'
run hook-dlq show -o table "$id"
exits 0 'show as a table'
like "$(cat "$work/out")" '^next +hook-dlq retry' '... has a line a field'
like "$(cat "$work/out")" '503 .*\\x1b\[31mbusy' '... and a line an attempt'
is "$(tr -d '\n' <"$work/out" | LC_ALL=C grep -c '[^ -~]')" 0 \
    '... and nothing that drives a terminal'
id=$(ids -s "$acme")
like "$(hook-dlq show "$id" | jq -r '.subscription.url')" '/acme\?\.\.\.$' \
    'a query string is not shown'
is "$(hook-dlq list -s "$acme"; hook-dlq show "$id"; hook-dlq show -o table \
    "$id")" "$( (hook-dlq list -s "$acme"; hook-dlq show "$id"; hook-dlq show \
    -o table "$id") | sed s/t0psecret/X/)" '... nor listed'
run hook-dlq show 999999
is "$rc $(cat "$work/err")" \
    '1 hook-dlq: delivery 999999: no such delivery' 'show an unknown one'

# The pipe: put back what failed with 503, and nothing else.
want=$(jq -r "select(.last_status == 503) | .event_id" "$work/list" | sort)
old=$(jq -r "select(.last_status == 503) | .id" "$work/list" | sort -n | xargs)
hook-dlq list -s "$shop" --since yesterday |
    jq -c 'select(.last_status==503)' >"$work/pipe"
run hook-dlq retry -n -m 'their outage' - <"$work/pipe"
is "$rc $(jq -r .id "$work/out" | xargs)" "0 $old" \
    'a dry run names what would be put back'
is "$(hook-dlq count) $(sql 'select count(*) from webhook_audit')" '7 0' \
    '... and changes nothing'
run hook-dlq retry -m 'their outage' -u alice - <"$work/pipe"
is "$rc $(cat "$work/err")" '0 ' 'list | jq | retry'
is "$(jq -r '[.id, .state] | join(" ")' "$work/out" | sort -n | xargs)" \
    "$(for i in $old; do echo "$i pending"; done | xargs)" \
    '... prints what waits now, the same deliveries'
is "$(sql "select actor, tool, action, reason, object from webhook_audit
    order by object")" "$(for i in $old; do
    echo "alice|hook-dlq|retry|their outage|delivery $i"; done | sort)" \
    '... with an audit row each'
is "$(sql "select distinct attempts, round_start, finished_at is null,
    give_up_at - next_attempt_at from webhook_deliveries_pending")" \
    '1|1|t|3 days' '... the schedule and the deadline start anew'
like "$(hook-dlq show "${old%% *}" | jq -r .next)" '^nothing: it is tried' \
    '... which show knows'
n=$(seen /shop)
run hook-deliver
is "$(sql "select state, attempts, last_status from webhook_deliveries
    where id in ($(echo "$old" | tr ' ' ,)) group by 1, 2, 3")" \
    'delivered|2|200' '... and hook-deliver delivers them'
is "$(awk -v n="$n" '$1 == "in" && $5 == "/shop" && ++i > n { print $6 }' \
    "$sink_dir/log" | sort)" "$want" '... those only, under their webhook-id'
is "$(ids -s "$shop" | wc -w) $(hook-dlq list -s "$shop" |
    jq .last_status | sort -u)" '2 400' '... and the others stay'
for i in $(awk '$1 == "in" && $5 == "/shop" { print $2 }' "$sink_dir/log"); do
	echo "$(tr -d '\r' <"$sink_dir/$i.head" |
	    sed -n 's/^webhook-id: //pI') $(cksum <"$sink_dir/$i.body")"
done | sort | uniq -c | awk '$1 > 1 { print $2 }' >"$work/same"
is "$(cat "$work/same")" "$want" '... with the same bytes'

# One that still fails comes back, with its history.
sub still "$sink/still"
event still
last_try
id=$(ids -s "$sub")
first=$(sql "select finished_at from webhook_deliveries where id = $id")
run hook-dlq retry "$id"
last_try
is "$(sql "select state, attempts, round_start, last_status,
    finished_at > '$first' from webhook_deliveries where id = $id")" \
    'expired|2|1|500|t' 'what fails again is dead again, with the new reason'
is "$(hook-dlq show "$id" | jq -r '.attempt_log[].attempt' | xargs)" '1 2' \
    '... and all of its attempts'
run hook-dlq retry "$id"
last_try
is "$(sql "select state, attempts, round_start from webhook_deliveries
    where id = $id")" 'delivered|3|2' '... until it succeeds'
run hook-dlq retry "$id"
is "$rc $(cat "$work/out" "$work/err")" \
    "1 hook-dlq: delivery $id: not in the dead-letter queue: delivered" \
    'what was delivered is not put back'

# Four people at once.
clone "$shop" 2500
hook-dlq list | jq .id | sort >"$work/ids"
is "$(wc -l <"$work/ids") $(sort -u "$work/ids" | wc -l)" \
    "$(hook-dlq count) $(hook-dlq count)" \
    'a long list of one moment leaves none out and none twice'
hook-dlq list -s "$shop" | jq .id | head -n 1200 >"$work/ids"
rows=$(sql 'select count(*) from webhook_audit')
for i in 1 2 3 4; do
	{
		hook-dlq retry - <"$work/ids" >"$work/retry.$i" \
		    2>"$work/retry.$i.err"
		echo $? >"$work/retry.$i.rc"
	} &
	them="${them-} $!"
done
# shellcheck disable=SC2086
wait $them
is "$(cat "$work"/retry.[1-4].rc | sort | tr -d 01)" '' \
    'four who retry the same at once'
is "$(cat "$work"/retry.[1-4] | jq .id | sort)" "$(sort "$work/ids")" \
    '... put each back exactly once'
is "$(sql 'select count(*) from webhook_audit')" $((rows + 1200)) \
    '... with one audit row'
is "$(cat "$work"/retry.[1-4].err | wc -l)" 3600 \
    '... and are told of the others'
is "$(grep -vc 'not in the dead-letter queue: pending$' \
    "$work"/retry.[1-4].err | cut -d : -f 2 | sort -u)" 0 '... why'
sql "update webhook_deliveries set state = 'expired', finished_at = now()
    where state = 'pending'"

# Refusals leave what was asked with them alone.
sub gone "$sink/gone" "tenant='acme'"
gone=$sub
sub off "$sink/off"
off=$sub
sub held "$sink/held"
held=$sub
sub pruned "$sink/pruned"
pruned=$sub
for t in off held pruned; do
	event $t
done
events gone 2 acme
hook-fanout
sql "update webhook_deliveries set state = 'failed', finished_at = now()
    where id in (select max(id) from webhook_deliveries_pending
	group by subscription_id)"
id_gone=$(ids -s "$gone") id_off=$(ids -s "$off") id_held=$(ids -s "$held")
id_pruned=$(ids -s "$pruned")
id_waits=$(sql "select id from webhook_deliveries_pending
    where subscription_id = $gone")
run hook-sub rm "$gone"
exits 0 'a subscription is removed'
is "$(sql "select state, discarded from webhook_deliveries
    where id = $id_waits")" 'discarded|subscription removed' \
    '... what waited for it is discarded'
is "$(hook-dlq list -s "$gone" | jq -r '[.id, .tenant, .state] | join(" ")')" \
    "$id_gone acme failed" '... what was dead is still listed, with its tenant'
like "$(hook-dlq show "$id_gone" | jq -r .next)" \
    '^nothing: its subscription was removed' '... and shown'
sql "update webhook_subscriptions set state = 'disabled' where id = $off;
    update webhook_subscriptions set state = 'paused' where id = $held;
    delete from webhook_outbox where event_type = 'pruned'"
run hook-dlq retry "$id_gone" "$id_off" "$id_held" 999999 "$id_held" \
    "$id_pruned" "$id_waits"
exits 1 'some of these are refused'
is "$(jq -r '[.id, .state] | join(" ")' "$work/out")" "$id_held pending" \
    '... one is done, though its subscription is paused'
is "$(sort "$work/err")" "$(sort <<EOT
hook-dlq: delivery $id_gone: subscription $gone was removed
hook-dlq: delivery $id_off: subscription $off is disabled
hook-dlq: delivery 999999: no such delivery
hook-dlq: delivery $id_pruned: event $(sql "select event_id
    from webhook_deliveries where id = $id_pruned") was pruned: its body is gone
hook-dlq: delivery $id_waits: not in the dead-letter queue: discarded
EOT
)" '... each with its reason'
is "$(hook-dlq show "$id_held" | jq -r .next)" "hook-sub resume $held" \
    'show says how a paused one goes on'
is "$(hook-dlq show "$id_off" | jq -r .next)" \
    "hook-sub resume $off && hook-dlq retry $id_off" '... and a disabled one'
run hook-dlq drop -n "$id_gone"
is "$rc $(jq .id "$work/out") $(ids -s "$gone")" "0 $id_gone $id_gone" \
    'a dry run of drop changes nothing'
run hook-dlq drop -u bob -m 'not ours' "$id_gone" "$id_pruned" "$id_held"
is "$rc $(cat "$work/err")" "1 hook-dlq: delivery $id_held: not in the\
 dead-letter queue: pending" \
    'drop takes what is dead, whatever became of its subscription'
is "$(sql "select d.state, discarded, finished_at > created_at, actor, action,
    reason from webhook_deliveries d
    join webhook_audit a on object = 'delivery ' || d.id
    where d.id in ($id_gone, $id_pruned)" | sort -u)" \
    'discarded|dropped by bob: not ours|t|bob|drop|not ours' \
    '... says so in the row and in an audit row'
run hook-dlq drop "$id_gone"
exits 1 '... once'

# Where the worker looks next.
id=$(ids -s "$shop" | cut -d ' ' -f 1)
sql "update webhook_lanes set owner = 'w', leased_until = '2100-01-01',
    next_due_at = '2100-01-01' where subscription_id = $shop"
run hook-dlq retry "$id"
is "$rc $(sql "select next_due_at = '2100-01-01' from webhook_lanes
    where subscription_id = $shop")" '0 t' 'a leased lane is left to its owner'
id=$(ids -s "$shop" | cut -d ' ' -f 1)
sql "update webhook_lanes set owner = null, leased_until = null,
    next_due_at = '2100-01-01', hold_until = '2099-01-01'
    where subscription_id = $shop"
run hook-dlq retry "$id"
is "$rc $(sql "select next_due_at = '2099-01-01' from webhook_lanes
    where subscription_id = $shop")" '0 t' \
    'a free one is looked at again, but not before its hold is over'
id=$(ids -s "$shop" | cut -d ' ' -f 1)
sql "update webhook_lanes set hold_until = null where subscription_id = $shop"
like "$(psql -X -q -A -t <<EOT
select webhook_channel('deliver') as c \\gset
listen :"c";
\\! hook-dlq retry $id >/dev/null
select 1;
select next_due_at <= now() from webhook_lanes where subscription_id = $shop;
EOT
)" 'notification "webhook_deliver_' 'a sleeping hook-deliver is told'
is "$(sql "select next_due_at <= now() from webhook_lanes
    where subscription_id = $shop")" t '... and finds the lane due'

# However much history there is, it is not touched.
id=$(ids -s "$shop" | cut -d ' ' -f 1)
mkfifo "$work/hold"
psql -X -q <"$work/hold" >/dev/null &
holder=$!
exec 9>"$work/hold"
echo 'begin; lock table webhook_deliveries_done;' >&9
wait_for 60 '[ "$(sql "select count(*) from pg_locks where granted
    and relation = '"'webhook_deliveries_done'"'::regclass
    and mode = '"'AccessExclusiveLock'"'")" = 1 ]'
for c in list count alert "retry $id"; do
	# shellcheck disable=SC2086
	run timeout 120 hook-dlq $c
	[ "$rc" -le 1 ]
	check "${c%% *} works while finished deliveries are locked" ||
	    note "$rc $(cat "$work/err")"
done
exec 9>&-
wait $holder

# One line for the monitor.
n=$(hook-dlq count)
while IFS='|' read -r options want; do
	# shellcheck disable=SC2086
	run hook-dlq alert $options
	is "$rc $(cut -d ' ' -f 2 "$work/out")" "$want" "alert $options"
done <<EOT
|1 WARNING
-w $((n + 1))|0 OK
-w $n|1 WARNING
-c $n|2 CRITICAL
-c $((n + 1))|0 OK
-w 1 -c $n|2 CRITICAL
-a 1d|0 OK
-w $((n + 1)) -a 1s|1 WARNING
-s 999|0 OK
-T acme -c 1|2 CRITICAL
EOT
run hook-dlq alert -w 7 -c 9 -a 2h
like "$(cat "$work/out")" "^DLQ CRITICAL - $n dead, oldest [0-9]+ s, in \
[0-9]+ subscriptions, most in subscription $shop \([0-9]+\) \
\| dead=$n;7;9;0 oldest=[0-9]+s;7200;;0\$" \
    'alert names the worst, and has performance data'
is "$(wc -l <"$work/out")" 1 '... in one line'
# Each subscription by itself: those beyond what one may have, the worst first.
dead_of() {
	sql "select count(*) from webhook_dlq where subscription_id = $1"
}
n_shop=$(dead_of "$shop") n_acme=$(dead_of "$acme")
sql "update webhook_subscriptions set name = E'Shop | \\u00e9\\n' where id = $shop"
while IFS='|' read -r options want; do
	# shellcheck disable=SC2086
	run hook-dlq alert $options
	is "$rc $(sed -e '1s/ - .* over=/ over=/' -e '2,$s/oldest [0-9]* s/old/' \
	    "$work/out" | paste -s -d , -)" "$want" "alert $options"
done <<EOT
-C $n_shop|2 DLQ CRITICAL over=1;;;0,CRITICAL: subscription $shop (Shop ? ??): $n_shop dead, old: hook-dlq list -s $shop
-C $((n_shop + 1))|0 DLQ OK over=0;;;0
-W $n_shop -C $((n_shop + 1))|1 DLQ WARNING over=1;;;0,WARNING: subscription $shop (Shop ? ??): $n_shop dead, old: hook-dlq list -s $shop
-W $n_acme -C $n_shop -s $acme|1 DLQ WARNING over=1;;;0,WARNING: subscription $acme (invoice.due): $n_acme dead, old: hook-dlq list -s $acme
-W $n_shop -c 1|2 DLQ CRITICAL over=1;;;0,WARNING: subscription $shop (Shop ? ??): $n_shop dead, old: hook-dlq list -s $shop
-A 1d|0 DLQ OK over=0;;;0
-A 1s -s $acme|1 DLQ WARNING over=1;;;0,WARNING: subscription $acme (invoice.due): $n_acme dead, old: hook-dlq list -s $acme
EOT
run hook-dlq alert -C "$n_shop" -W 1
is "$(head -n 2 "$work/out" | cut -d ' ' -f 1-3) $(grep -c ^WARNING "$work/out")
$(sed -n '1s/.*, \([0-9]*\) over their own limit .*/\1/p' "$work/out")" \
    "DLQ CRITICAL -
CRITICAL: subscription $shop $(($(hook-dlq list | jq .subscription_id |
    sort -u | wc -l) - 1))
$(hook-dlq list | jq .subscription_id | sort -u | wc -l)" \
    'whoever is over is told, the worst first'
sql "insert into webhook_deliveries (outbox_id, outbox_created_at, event_id,
	event_type, subscription_id, state, attempts, give_up_at, finished_at,
	last_status, payload_bytes)
    select 1, now(), 'evt_x', 'many', 5000 + n, 'failed', 1, now(), now(),
	500, 2
    from generate_series(1, 30) n"
run hook-dlq alert -t many -W 1
is "$rc $(wc -l <"$work/out") $(tail -n 1 "$work/out")" '1 22 and 10 more' \
    'of many, 20 are named'
is "$(sed -n 2p "$work/out" | cut -d : -f 2)" ' subscription 5001 (removed)' \
    '... also those that are gone'
sql "delete from webhook_deliveries where event_type = 'many'"
run hook-dlq alert -d 'host=/nowhere'
is "$rc $(cut -c1-13 "$work/out") $(wc -l <"$work/out")" '3 DLQ UNKNOWN - 1' \
    'without a database alert knows nothing'

# What it does not take.
last=$(sql 'select max(id) from webhook_audit')
while IFS='|' read -r want args; do
	# shellcheck disable=SC2086
	run hook-dlq $args </dev/null
	exits "$want" "hook-dlq $args"
	like "$(tail -n 1 "$work/err")" '^(usage: )?hook-dlq(: | list)' \
	    '... and is told so'
done <<EOT
64|
64|bury
64|list extra
64|list -w 1
64|list -m why
64|list -s 0
64|list -s 1x
64|list -s
64|list -o xml
64|list --since soon
64|list --until 2026-13-01
64|list --since
64|list --later
64|count 7
64|count -o json
64|show
64|show 1 2
64|show one
64|show -
64|show 99999999999999999999
64|show -s 1 1
64|retry
64|retry one
64|retry 0
64|retry 1 -
64|retry -s 1 1
64|retry -w 1 1
64|drop
64|alert -w 0
64|alert -c many
64|alert -a soon
64|alert -W 0
64|alert -C many
64|alert -A soon
64|list -W 1
64|alert 7
75|count -d host=/nowhere
EOT
id=$(ids -s "$shop" | cut -d ' ' -f 1)
while IFS='|' read -r why input; do
	for verb in retry drop; do
		rc=0
		printf '%b' "$id\n$input" | hook-dlq $verb - \
		    >"$work/out" 2>"$work/err" || rc=$?
		exits 65 "$verb refuses: $why"
		like "$(cat "$work/err")" 'standard input: line 2: ' \
		    '... and names the line'
	done
done <<'EOT'
an object without an id|{"n":1}
half an object|{"id":1
no number|one
an empty line|\n1
a NUL byte|1\00002
EOT
is "$(sql 'select max(id) from webhook_audit') $(ids -s "$shop" |
    cut -d ' ' -f 1)" "$last $id" '... and nothing was done'
run hook-dlq retry - </dev/null
is "$rc $(cat "$work/out" "$work/err")" '0 ' 'no ids, nothing to do'

# Days are told apart when a statement is planned: that opens, and locks, the
# partitions of those days alone.
days() {	# TABLE SINCE UNTIL: from|until
	psql -X -q -A -t -v ON_ERROR_STOP=1 <<-EOT
		set timezone = 'UTC';
		prepare d as $(cat "$top/sql/query/dlq-days.sql");
		execute d ('webhook_deliveries_$1', $2, $3);
	EOT
}
opened() {	# QUERY PARAMETERS: how many partitions of the dead
	psql -X -q -A -t -v ON_ERROR_STOP=1 <<-EOT
		set plan_cache_mode = force_custom_plan;
		prepare q as $(cat "$top/sql/query/$1.sql");
		begin;
		\\o /dev/null
		execute q ($2);
		\\o
		select count(*) from pg_locks l join pg_class c
		    on c.oid = l.relation where l.pid = pg_backend_pid()
		    and c.relkind = 'r'
		    and c.relname like 'webhook_deliveries_dead_%';
	EOT
}
day=$(sql 'select min(finished_at)::date from webhook_deliveries_dead')
next=$(date -u -d "$day +1 day" +%F)
until=$(sql 'select max(finished_at)::date + 1 from webhook_deliveries_dead')
is "$(days dead null null)" "$day 00:00:00+00|$until 00:00:00+00" \
    'what is dead is of the days whose partitions hold anything'
is "$(days dead "'$day 01:00Z'" "'$day 02:00Z'")" \
    "$day 01:00:00+00|$day 02:00:00+00" '... or within the times asked for'
is "$(days 'done' "'$day 01:00Z'" "'$next 00:00Z'" | cut -d '|' -f 1)" \
    "$day 01:00:00+00" '... and so of the others'
none='null, null, null, null, null, null, null'
days="'$day 00:00Z', '$next 00:00Z'"
is "$(opened dlq-list "'-infinity', 0, 1000, null, null, null, null, $days")" \
    1 'a list opens those partitions only'
is "$(opened dlq-count "$none, $days")" 1 '... and so does a count'
is "$(opened dlq-over "$none, 1, 1, 1, $days")" 1 '... and an alert'
is "$(opened dlq-find "1, '{failed,expired}', $days")" 1 \
    '... and looking for one'
is "$(opened dlq-find "1, '{pending}', null, null")" 0 \
    '... and for what waits, none of them'
clone "$shop" 1
sql "update webhook_deliveries set finished_at = '2001-01-01 00:00Z'
    where id = (select max(id) from webhook_deliveries)"
last=$(sql 'select max(id) from webhook_deliveries')
is "$(days dead null null)" '-infinity|infinity' \
    'what has no partition of its own may be of any day'
is "$(hook-dlq list | jq -r .id | head -n 1)" "$last" '... it is listed'
is "$(hook-dlq count)" "$(sql 'select count(*) from webhook_dlq')" \
    '... and counted'
run hook-dlq show -o json "$last"
is "$(jq -r .finished_at "$work/out")" 2001-01-01T00:00:00.000000Z \
    '... and shown'
is "$(for state in pending delivered discarded; do
	hook-dlq show "$(sql "select max(id) from webhook_deliveries
	    where state = '$state'")" | jq -r .state
    done | xargs)" 'pending delivered discarded' 'one of any state is shown'
run hook-dlq show 123456789
exits 1 'one that never was is not found'

done_testing
