#!/bin/sh
# Subscriptions that are removed, paused, resumed, changed and made twice
# while deliveries wait and requests are under way.
. "${0%/*}/lib.sh"
. "${0%/*}/engine.sh"
need_db

sink <<'EOT'
/gone 1-2 delay 2000
/fast * delay 30
/moved * delay 30
/headers 1 delay 1000 | close
EOT
sub gone "$sink/gone" max_concurrency=2
gone=$sub
fanout -i 100ms
fan_log=$log
worker -i 100ms
log=$log
events gone 100
wait_for 5 '[ "$(seen /gone)" = 2 ]' 'two requests are under way, 98 wait'
run hook-sub rm -m 'left us' "$gone"
exits 0 'the subscription is removed'
is "$(sql "select state, discarded, count(*) from webhook_deliveries
    group by 1, 2")" 'discarded|subscription removed|100' \
    'all that waited is discarded, and says why'
run events gone 1
exits 0 'a producer does not notice'
wait_for 5 '[ "$(awk "\$1 == \"out\"" "$sink_dir/log" | wc -l)" = 2 ]'
wait_for 5 'grep -q "was removed" "$log"' 'the worker does'
sub again "$sink/gone"
sql "update webhook_subscriptions set event_types = '{gone}' where id = $sub"
events gone 1
wait_for 5 '[ "$(seen /gone)" = 3 ]' 'made again, it gets new events'
wait_for 5 '[ "$(count "state = '"'delivered'"'")" = 1 ]'
is "$(sql "select state, count(*) from webhook_deliveries group by 1
    order by 1" | tr '\n' ' ')" 'delivered|1 discarded|100 ' '... and those only'
stop
is "$rc $(wc -l <"$log") $(wc -l <"$fan_log")" '0 1 0' \
    'one line is logged of it, and none in each poll'
worker -i 100ms
events gone 1
wait_for 5 '[ "$(seen /gone)" = 4 ]' 'a worker that starts later minds nothing'

# Pause and resume, with requests under way.
sub fast "$sink/fast" max_concurrency=2
fast=$sub
events fast 200
wait_for 5 '[ "$(seen /fast)" -ge 10 ]'
hook-sub pause "$fast" >"$work/out"
wait_for 5 '[ "$(lane owner "$fast")" = - ]' 'paused, its lane is given back'
n=$(seen /fast)
events fast 1
events gone 1
wait_for 5 '[ "$(seen /gone)" = 5 ]'
is "$(seen /fast)" "$n" '... and nothing is sent'
is "$(count "subscription_id = $fast and attempts <> (state = 'delivered')::int")" 0 \
    '... what was under way is recorded'
is "$(count "subscription_id = $fast")" 201 '... new events are kept for it'
hook-sub resume "$fast" >"$work/out"
wait_for 10 '[ "$(seen /fast)" = 201 ]' 'resumed, it goes on'
n=0
while [ $n -lt 15 ]; do
	n=$((n + 1))
	events fast 3
	hook-sub pause "$fast" >"$work/out"
	events fast 1
	hook-sub resume "$fast" >"$work/out"
done
wait_for 10 '[ "$(seen /fast)" = 261 ]' \
    'paused and resumed at once, 15 times: nothing is left lying'
is "$(ids /fast | wc -l)" 261 '... nor sent twice'

# Changed while it works: at once, and for all that is not yet under way.
events fast 300
wait_for 5 '[ "$(seen /fast)" -ge 280 ]'
hook-sub set -c 5 "$fast" "$sink/moved" >"$work/out"
wait_for 10 '[ $(($(seen /moved) + $(seen /fast))) = 561 ]' \
    'the URL is changed amid work'
[ "$(seen /fast)" -lt 400 ]
check "... and taken at once ($(seen /fast) went to the old one)"
is "$(awk '$1 == "in" && $5 == "/moved" && $7 > n { n = $7 } END { print n }' \
    "$sink_dir/log")" 5 '... as is the cap'

# Headers of a request that has to be sent again are still there after a
# change.
sub headers "$sink/headers" "headers='{X-Old,one}'" timeout_ms=5000
events headers 1
wait_for 5 '[ "$(seen /headers)" = 1 ]'
hook-sub set -H 'X-New: two' "$sub" >"$work/out"
events headers 1
wait_for 5 '[ "$(seen /headers)" -ge 2 ]'
wait_for 10 "[ \"\$(count \"subscription_id = $sub
    and state = 'delivered'\")\" -ge 1 ]" 'headers are changed amid work'

# Amid heavy work, too: a worker that moves rows is no reason to fail.
for how in order rm; do
	sub busy "$sink/busy" max_concurrency=100
	events busy 4000
	wait_for 10 "[ \$(count \"subscription_id = $sub
	    and state = 'delivered'\") -ge 300 ]"
	case $how in
	order)	run hook-sub set -O "$sub" ;;
	rm)	run hook-sub rm "$sub" ;;
	esac
	exits 0 "hook-sub $how of a subscription that is being sent to"
	wait_for 20 "[ \"\$(count \"subscription_id = $sub
	    and state = 'pending'\")\" = 0 ]" '... and nothing is left lying'
done
is "$(sql "select count(*) > 0, count(*) filter (where state = 'delivered') > 0
    from webhook_deliveries where subscription_id = $sub
    and state <> 'pending'")" 't|t' '... what was sent is delivered'

# Two with one URL.
sub twice "$sink/twice"
sub twice "$sink/twice"
events twice 2
wait_for 5 '[ "$(seen /twice)" = 4 ]' 'two subscriptions with one URL get each event'
is "$(ids /twice | wc -l)" 2 '... under one id each'

done_testing
