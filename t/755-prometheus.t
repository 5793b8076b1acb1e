#!/bin/sh
# Metrics: right, bounded, valid for promtool and for a Prometheus that
# scrapes them; the alert rules and each query of the dashboard.
. "${0%/*}/lib.sh"
need_db
sql "create role prom_$$ login in role webhook_viewer" || exit
viewer="user=prom_$$"
etc=$top/scripts/etc

value() {	# SERIES
	hook-stat -d "$viewer" -o prom | series=$1 awk '
	    index($0, ENVIRON["series"] " ") == 1 { print $NF }'
}

# Something of everything, with event types as nobody would call them.
sink <<-'EOT'
	/no * status 404
EOT
hook-sub add "$sink/good" >/dev/null
hook-sub add -e 'odd.*' "$sink/no" >/dev/null
printf s3cret >"$work/secret"
hook-source add -s github -k "$work/secret" gh >/dev/null
sql "insert into webhook_outbox (event_type, payload)
    select t, '{}' from unnest(array['odd.\"quoted\"', 'odd.back\\slash',
    E'odd.new\\nline', E'odd.\\u00fcml', 'plain']) t;
    insert into webhook_outbox (event_type, payload, created_at)
    values ('slow', '{}', now() - interval '100 s')"
hook-fanout
hook-deliver
sql "insert into webhook_counters (name, label, outcome, value)
    values ('received', 'gh', 'stored', 3), ('consumed', 'gh', 'done', 2),
	('messages_pruned', 'gh', 'done', 2);
    update webhook_secrets set expires_at = now() + interval '9 days'
    where subscription_id = 1;
    insert into webhook_inbox (source, message_id, body)
    values ('gh', '1', '')"

hook-stat -d "$viewer" -o prom >"$work/metrics"
run promtool check metrics <"$work/metrics"
is "$rc $(cat "$work/out" "$work/err")" '0 ' 'promtool has nothing to say'
hook-stat -d "$viewer" -s -o prom >"$work/named"
run promtool check metrics <"$work/named"
is "$rc $(cat "$work/out" "$work/err")" '0 ' '... nor with subscriptions'
is "$(grep -c 'subscription="' "$work/metrics")" 0 \
    'no subscription is named'
is "$(grep -c 'failing_seconds{subscription="2"}' "$work/named")" 1 \
    '... but where it was asked for'
for type in 'odd.\"quoted\"' 'odd.back\\slash' 'odd.new\nline' 'odd.üml'; do
	is "$(value "hook_attempts_total{event_type=\"$type\",\
outcome=\"failed\"}")" 1 'attempts by event type and outcome'
done
attempts=$(sql 'select count(*) from webhook_attempts')
is "$attempts $(value hook_attempt_duration_seconds_count)" '10 10' \
    'every attempt is in the histogram'
is "$(value 'hook_attempt_duration_seconds_bucket{le="+Inf"}')" 10 \
    '... in its last bucket, too'
is "$(awk -F '[" ]' '/^hook_attempt_duration_seconds_bucket/ {
    if ($NF < last) print "falls at", $0; last = $NF }' "$work/metrics")" '' \
    '... which never fall'
is "$(sql "select sum(duration_ms) / 1000.0 = $(value \
    hook_attempt_duration_seconds_sum) from webhook_attempts")" t \
    '... and sum up to the time they took'
is "$(value hook_events_fanned_out_total) $(value \
    hook_fanout_lag_seconds_count)" '6 6' 'events are counted'
like "$(value hook_fanout_lag_seconds_sum)" '^1[0-9][0-9]\.' \
    '... with the lag of the fan-out'
is "$(value 'hook_dlq{kind="delivery"}')" 4 'dead letters'
is "$(value 'hook_received_total{source="gh",outcome="stored"}') $(value \
    'hook_consumed_total{source="gh",outcome="done"}')" '3 2' \
    'what came in, and what became of it'
is "$(value hook_lane_takeovers_total)" 0 'nobody was taken over'
sql "insert into webhook_outbox (event_type, payload) values ('hang', '{}')"
hook-fanout
curl -s -d '/good * hang' "$sink/_rules" >/dev/null
start hook-deliver -l 1s
wait_for 20 '[ "$(sql "select coalesce(sum(in_flight), 0)
    from webhook_workers")" = 1 ]'
stop "$pid" KILL
curl -s -d '/good * status 200' "$sink/_rules" >/dev/null
sql "update webhook_lanes set leased_until = now(), next_due_at = now()
    where owner is not null"
start hook-deliver -f -l 1s
wait_for 40 '[ "$(value hook_lane_takeovers_total)" = 1 ]' \
    'a worker that was killed is a take-over'
wait_for 20 '[ "$(value "hook_attempts_total{event_type=\"hang\",\
outcome=\"delivered\"}")" = 1 ]'
stop
is "$(value 'hook_attempts_total{event_type="hang",outcome="unknown"}')" 1 \
    '... and its attempt is one without an outcome'

# Bounded: 300 event types, of which 200 have names.
sum() {
	hook-stat -d "$viewer" -o prom | awk '/^hook_attempts_total/ {
	    n += $NF } END { print n }'
}
sql "insert into webhook_counters (name, label, outcome, value, since)
    select 'attempts', 'type ' || n, 'delivered', 10,
	now() + n * interval '1 ms' from generate_series(1, 300) n"
types() {
	hook-stat -d "$viewer" -o prom |
	    sed -n 's/^hook_attempts_total{event_type="\(.*\)",outcome.*/\1/p' |
	    sort -u
}
types >"$work/types"
before=$(sum)
is "$(grep -c . "$work/types")" 201 'event types beyond 200 have one name'
is "$(grep -cx other "$work/types")" 1 '... other'
is "$(grep -cx 'plain\|type 1\|type 300' "$work/types")" 2 \
    '... they are the last that came'
sql "update webhook_samples set at = at - interval '100 s'"
hook-fanout
is "$(sql "select count(distinct label) from webhook_counters
    where name = 'attempts'")" 201 'a minute later they are kept as one'
types >"$work/types.2"
cmp "$work/types" "$work/types.2"
check '... names neither come nor go'
is "$(sum)" "$before" '... and nothing is lost'
run hook-reconcile
is "$(grep -c 'attempts' "$work/out")" 1 \
    '... hook-reconcile sees those that nobody made, and only those'
sql "delete from webhook_counters where name = 'attempts'
    and (label like 'type %' or label = 'other')"
run hook-reconcile
is "$(cat "$work/out")" '' '... but for which it is silent'

# The endpoint.
start hook-stat -d "$viewer" -s -l 127.0.0.1:0
stat_pid=$pid
stat_log=$log
wait_for 20 'grep -q address= "$stat_log"'
at=$(sed -n 's/.*address=//p' "$stat_log")
get() {		# PATH [OPTION...]: status and type
	path=$1
	shift
	curl -s -m 30 -o "$work/body" -w '%{http_code} %{content_type}' "$@" \
	    "http://$at$path"
}
is "$(get /metrics)" '200 text/plain; version=0.0.4; charset=utf-8' \
    '/metrics is what Prometheus wants'
run promtool check metrics <"$work/body"
is "$rc $(cat "$work/out" "$work/err")" '0 ' '... and finds good'
is "$(get /healthz) $(get /readyz)" '200 text/plain 200 text/plain' \
    '/healthz, /readyz'
is "$(get /metrics/x) $(get / -d x)" '404 text/plain 405 ' 'nothing else'
sql "alter role prom_$$ nologin;
    select pg_terminate_backend(pid) from pg_stat_activity
    where usename = 'prom_$$'" >/dev/null
wait_for 20 '[ "$(get /readyz)" = "503 text/plain" ]' \
    'without the database it is not ready'
is "$(get /metrics) $(get /healthz)" '503 text/plain 200 text/plain' \
    '... has no metrics, but is healthy'
sql "alter role prom_$$ login"
wait_for 20 '[ "$(get /readyz)" = "200 text/plain" ]' '... and comes back'
is "$(grep -c 'database fails' "$stat_log") $(grep -c 'database back' \
    "$stat_log")" '1 1' '... and said so once'

# A real Prometheus, with the rules.
mkdir "$work/rules"
cp "$etc/prometheus/hook-rules.yml" "$top/t/prometheus/rules.yml" "$work/rules"
run promtool check rules "$work/rules/hook-rules.yml"
exits 0 'promtool check rules'
(cd "$work/rules" && exec promtool test rules rules.yml) >"$work/out" 2>&1
check 'promtool test rules: each alert is raised when it should be' ||
    note "$(cat "$work/out")"
is "$(sed -n 's/.*alert: //p' "$work/rules/hook-rules.yml" | sort)" \
    "$(sed -n 's/.*alertname: \([A-Za-z]*\).*/\1/p' "$work/rules/rules.yml" |
    sort -u)" '... all of them'
cat >"$work/prometheus.yml" <<-EOT
	global: {scrape_interval: 1s, evaluation_interval: 1s}
	rule_files: [$work/rules/hook-rules.yml]
	scrape_configs:
	  - job_name: hook
	    static_configs: [{targets: ['$at']}]
EOT
prom_port=$(port)
start prometheus --config.file="$work/prometheus.yml" \
    --storage.tsdb.path="$work/tsdb" --log.level=warn \
    --web.listen-address="127.0.0.1:$prom_port"
prom_log=$log
query() {	# EXPRESSION: how many series, or what is wrong
	curl -s "http://127.0.0.1:$prom_port/api/v1/query" \
	    --data-urlencode "query=$1" |
	    jq -r 'if .status == "success" then .data.result | length
		else .error end'
}
wait_for 40 '[ "$(query "count_over_time(hook_build_info[1m]) > 2")" = 1 ]' \
    'a real Prometheus scrapes it' || note "$(cat "$prom_log")"
is "$(query 'up == 1')" 1 '... as a target that is up'
is "$(curl -s "http://127.0.0.1:$prom_port/api/v1/query" --data-urlencode \
    'query=sum(hook_attempts_total)' | jq -r '.data.result[0].value[1]')" \
    "$(sum)" '... and has our figures'
wait_for 40 '[ "$(curl -s "http://127.0.0.1:$prom_port/api/v1/rules" |
    jq -c "[.data.groups[].rules[].health] | unique")" = "[\"ok\"]" ]' \
    '... evaluates every rule'
jq -r '.panels[].targets[].expr' "$etc/grafana/hook-dashboard.json" |
    sed 's/\$__rate_interval/1m/g' >"$work/queries"
while read -r q; do
	n=$(query "$q")
	[ "$n" != 0 ] && [ "$n" -gt 0 ] 2>/dev/null
	check "dashboard: $q" || note "$n"
done <"$work/queries"
is "$(jq -r '[.panels[].title] | length == (unique | length)' \
    "$etc/grafana/hook-dashboard.json")" true 'each panel has its name'
stop "$stat_pid"
is "$rc" 0 'a signal ends hook-stat'

stop_all
sql "drop role prom_$$"
done_testing
