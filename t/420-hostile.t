#!/bin/sh
# Hostile endpoints, all at once, one subscription each: every attempt ends
# within its time, with the phase in its reason, after one request, and the
# worker's memory stays flat.  Then peers that close a connection just when
# it is used again, which is no failure.
. "${0%/*}/lib.sh"
. "${0%/*}/wire.sh"
need_db

head -c 67108864 /dev/zero | gzip -9 >"$work/bomb"
sink <<EOT
/version * raw HTTP/7.3 200 OK\\r\\n\\r\\n
/switch * raw HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: x\\r\\n\\r\\n
/status * raw HTTP/1.1 20000 OK\\r\\n\\r\\n
/silent * hang
/rst * rst
/nul-reason * raw HTTP/1.1 500 Bad\\0\\xff\\xc3(\
\\r\\nContent-Length: 2\\r\\n\\r\\n\\xff\\0
/nul-header * raw HTTP/1.1 500 Bad\\r\\nX-A\\0\\xff: \\xff\
\\r\\nContent-Length: 0\\r\\n\\r\\n
/nul-body * body a\\0b\\xff\\xc3(
/length-bad * raw HTTP/1.1 200 OK\\r\\nContent-Length: -7\\r\\n\\r\\nx
/length * raw HTTP/1.1 200 OK\
\\r\\nContent-Length: 99999999999999999999\\r\\n\\r\\nx
/junk * raw \\x16\\x03\\x01 not HTTP\\n\\n
/interim-slow * interim 102 50 300
/interim-only * raw HTTP/1.1 103 Early Hints\\r\\n\\r\\n\
HTTP/1.1 100 Continue\\r\\n\\r\\n
/interim * interim 103 10000
/huge-503 * status 503 | huge 2147483648
/huge * huge 2147483648
/http09 * raw <html>it works</html>
/gzip-te * header Transfer-Encoding: gzip | length none | file $work/bomb \
| then close
/gzip * header Content-Encoding: gzip | file $work/bomb
/good * body fine
/escape * raw HTTP/1.1 302 Go\
\\r\\nLocation: /\\x1b[31m\\xc3\\x07\\r\\nContent-Length: 0\\r\\n\\r\\n
/endless-slow * endless body 100
/endless-head * endless head
/endless-body * endless body
/endless-500 * status 500 | endless body
/empty * close
/drip-head * drip 1000
/drip-body * drip 1000 body | body xxxxxxxxxx
/drip-500 * status 500 | drip 1000 body | body xxxxxxxxxx
/cut-500 * status 500 | length 1000 | body xyz | then rst
/cut * length 1000 | body xyz | then close
/chunk-bad * raw HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\
\\r\\n\\r\\n-1\\r\\nx
/chunk * raw HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\
\\r\\n\\r\\nFFFFFFFFFFFFFFFFFF\\r\\nx
EOT

# What the sink can't: a line without end, a handshake without end, and a
# peer that does not read.
listener '
	my $req = "";
	return if fork;
	sysread($c, $req, 65536);
	if ($req =~ m,^POST /endless-line,) {
		syswrite($c, "HTTP/1.1 200 OK\r\nX: ");
		1 while syswrite($c, "y" x 65536);
	}
	if ($req =~ m,^POST /extension,) {
		syswrite($c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked" .
		    "\r\n\r\n1;");
		1 while syswrite($c, "z" x 65536);
	}
	exit;'
wild=127.0.0.1:$port
listener 'push(@kept, $c)'
deaf=127.0.0.1:$port

# name|what is recorded: state, status, and how the reason begins
cat >"$work/want" <<'EOT'
chunk-bad|delivered|200|body: 
chunk|delivered|200|body: 
cut-500|later|500|body: 
cut|delivered|200|body: 
deaf|later||send: timed out after 2000 ms
drip-500|later|500|body: timed out after 2000 ms
drip-body|delivered|200|body: timed out after 2000 ms
drip-head|later||head: timed out after 2000 ms
empty|later||wait: 
endless-500|later|500|status 500
endless-body|delivered|200|
endless-head|later||head: head of over 16384 bytes
endless-line|later||head: line of over 16384 bytes
endless-slow|delivered|200|body: timed out after 2000 ms
escape|later|302|redirect, not followed: /?[31m??
extension|delivered|200|body: timed out after 2000 ms
gzip-te|delivered|200|
gzip|delivered|200|
handshake|later||tls: timed out after 2000 ms
http09|later||head: 
huge-503|later|503|status 503
huge|delivered|200|
interim-only|later||head: no final answer, only status 100
interim-slow|later||head: timed out after 2000 ms
interim|later||head: over 100 interim answers
junk|later||head: 
length-bad|later||head: 
length|delivered|200|
nul-body|delivered|200|
nul-header|later||head: 
nul-reason|later||head: 
rst|later||wait: 
silent|later||wait: timed out after 2000 ms
status|later||head: 
switch|later||head: no final answer, only status 101
version|later||head: 
EOT
psql -X -q -v ON_ERROR_STOP=1 -v sink="$sink" -v wild="$wild" \
    -v deaf="$deaf" -v secret="$secret" <<EOT || exit
insert into webhook_subscriptions (name, url, event_types, retry_ms,
    timeout_ms)
select name, case name when 'deaf' then 'http://' || :'deaf' || '/deaf'
	when 'handshake' then 'https://' || :'deaf' || '/'
	when 'endless-line' then 'http://' || :'wild' || '/endless-line'
	when 'extension' then 'http://' || :'wild' || '/extension'
	when 'baseline' then 'https://127.0.0.1:1/'
	-- not on a connection that others have used
	when 'rst' then replace(:'sink', '127.0.0.1', 'localhost') || '/rst'
	else :'sink' || '/' || name end,
    array[case when name in ('good', 'baseline', 'deaf') then name
	else 'bad' end], '{900000}', 2000
from unnest(string_to_array('good baseline $(cut -d '|' -f 1 "$work/want" |
    xargs)', ' ')) as name;
insert into webhook_secrets (subscription_id, secret)
select id, :'secret' from webhook_subscriptions;
insert into webhook_outbox (event_type, payload)
values ('good', '1'), ('baseline', '2');
EOT

hwm() {
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$worker/status"
}
hook-fanout
start hook-deliver -f -v
worker=$pid
worker_log=$log
wait_for 10 '[ "$(grep -c "^info" "$worker_log")" = 2 ]' 'a good one, before'
before=$(hwm)
sql "insert into webhook_outbox (event_type, payload)
    values ('bad', to_json(repeat('x', 300)))"
hook-fanout
all=$(($(wc -l <"$work/want") + 1))	# without deaf, with two good
wait_for 20 '[ "$(grep -c "^info" "$worker_log")" -ge $all ]' \
    'all hostile ones end'
after=$(hwm)

# The peer that does not read needs more to be sent than a socket takes.
sql "insert into webhook_outbox (event_type, payload)
    values ('deaf', to_json(repeat('x', 12 << 20)))"
hook-fanout
wait_for 10 '[ "$(sql "select max(attempts) from webhook_deliveries
    where event_type = '"'deaf'"'")" = 1 ]'

psql -X -q -A -t -F '|' >"$work/seen" <<'EOT'
select s.name, case d.state when 'pending' then 'later' else d.state end,
    d.last_status, d.last_error, d.attempts
from webhook_deliveries d
join webhook_subscriptions s on s.id = d.subscription_id
EOT
while IFS='|' read -r name state status reason; do
	got=$(grep "^$name|" "$work/seen")
	case $got in
	"$name|$state|$status|$reason"*)
		ok 0 "$name: $state, $status $reason" ;;
	*)	ok 1 "$name: $state, $status $reason"
		note "got: $got" ;;
	esac
	case $reason in
	'')	is "${got%|*}" "$name|$state|$status|" '... and no complaint' ;;
	esac
	is "${got##*|}" 1 '... in one attempt'
	case $name in
	deaf|handshake|endless-line|extension) ;;
	*)	is "$(seen "/$name")" 1 '... of one request' ;;
	esac
done <"$work/want"
is "$(sql 'select count(*) from webhook_attempts where duration_ms > 3500')" \
    0 'all within their time'
[ $((after - before)) -lt "${SAN:+100}8192" ]
ok $? 'memory stays flat' || note "$before KiB before, $after after"
is "$(sql "select encode(response_head, 'hex') from webhook_attempts
    where url like '%/nul-body'")" 610062ffc328 'any byte of a body is kept'
is "$(sql "select max(length(response_head)) from webhook_attempts")" 1024 \
    '... of 1 KiB, and no more'
is "$(LC_ALL=C grep -c '[^ -~]' "$worker_log")" 0 \
    'no control character gets into the log'
stop "$worker"
exits 0 'the worker is well'

# C19: a connection closed at the moment it is used again is no failure.
sink <<'EOT'
/close * reused | close
/rst * reused | rst
/idle * idle 1
EOT
for how in close rst idle; do
	sub "again-$how" "$sink/$how"
	sql "insert into webhook_outbox (event_type, payload)
	    select 'again-$how', to_json(n) from generate_series(1, 300) n"
done
deliver -j 8
exits 0 '900 events over connections that are closed'
is "$(sql "select count(*), min(state), max(state), max(attempts),
	max(last_error)
    from webhook_deliveries where event_type like 'again-%'")" \
    '900|delivered|delivered|1|' '... are delivered by their first attempt'
is "$(sql "select count(*) from webhook_attempts a
    join webhook_deliveries d on d.id = a.delivery_id
    where event_type like 'again-%'")" 900 '... each'
is "$(awk '$1 == "in" { print $5, $6 }' "$sink_dir/log" | sort -u |
    wc -l)" 900 '... under its own id'
[ "$(seen /close)" -gt 300 ] && [ "$(seen /rst)" -gt 300 ]
check '... and some were sent twice'
is "$(sql "select count(*) from webhook_lanes l
    join webhook_subscriptions s on s.id = l.subscription_id
    where name like 'again-%'
	and (failures > 0 or failing_since is not null)")" 0 \
    '... and no endpoint is the worse for it'
done_testing
