#!/bin/sh
# hook-consume: a hundred times one of the consumers, or a handler, is killed.
# No message is lost, none is handled by two at once, and what handlers print
# is stored once for each.
. "${0%/*}/lib.sh"
need_own_cluster

sql "insert into webhook_sources (name, scheme) values ('s', 'github')"
sql "insert into webhook_inbox (source, message_id, body)
    select 's', n, '{}' from generate_series(1, 800) n"
mkdir "$work/run"
cat >"$work/handler" <<EOT
#!/bin/sh
me=\$HOOK_INBOX_ID
if read -r was 2>/dev/null <"$work/run/\$me" &&
    tr '\\0' '\\n' 2>/dev/null <"/proc/\$was/environ" |
    grep -qx "HOOK_INBOX_ID=\$me"; then
	echo "\$me \$was \$\$" >>"$work/twice"
fi
echo \$\$ >"$work/run/\$me"
echo \$\$ >>"$work/pids"
echo "{\\"event_type\\":\\"e\\",\\"payload\\":\$me}"
sleep 0.0\$((me % 10))
[ \$((me % 40)) != 7 ] || sleep 3
rm -f "$work/run/\$me"
EOT
chmod +x "$work/handler"
: >"$work/pids"
consumer() {
	hook-consume -s s -f -j 3 -l 1s -e -x 1000 -S 100ms -- \
	    "$work/handler" 2>>"$work/log" &
	eval "c$1=$!"
	pids="$pids $!"
}
# Before, leases that ran out are left to their owners.
wait_for 20 '[ "$(sql "select now() > pg_postmaster_start_time()
    + interval '"'10.1 s'"'")" = t ]'
consumer 0
consumer 1
consumer 2
wait_for 10 '[ -s "$work/pids" ]'
kills=0
while [ $kills -lt 100 ]; do
	r=$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')
	if [ $((r % 2)) = 0 ]; then
		i=$((r / 2 % 3))
		eval "p=\$c$i"
		kill -9 "$p"
		wait "$p" 2>/dev/null
		consumer $i
		kills=$((kills + 1))
	else
		p=$(tail -n $((r % 5 + 1)) "$work/pids" | head -n 1)
		! kill -9 "$p" 2>/dev/null || kills=$((kills + 1))
	fi
	[ $((r % 3)) != 0 ] || sql 'select 1' >/dev/null
done
is $kills 100 'a hundred kills'
# Some handlers take longer than a lease.
wait_for 90 '[ "$(sql "select count(*) from webhook_inbox
    where state <> '"'done'"'")" = 0 ]' 'every message is handled in the end'
is "$(cat "$work/twice" 2>/dev/null)" '' '... none by two at once'
is "$(sql "select count(*), count(distinct payload::text)
    from webhook_outbox")" '800|800' \
    '... and what was printed is stored once for each'
is "$(sql "select sum(value) from webhook_counters
    where name = 'consumed' and outcome = 'done'")" 800 '... and counted'
sql "select count(*) from webhook_inbox where attempts > 1" >"$work/again"
[ "$(cat "$work/again")" -gt 20 ]
check "... though $(cat "$work/again") were handed out again" ||
    note "$(tail "$work/log")"

done_testing
