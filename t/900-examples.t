#!/bin/sh
# Manual pages: every example really runs.
#
# An example is a block ".Bd -literal -offset indent" in a page's EXAMPLES
# (blocks written otherwise, a crontab say, are only read).  The blocks of one
# page run in order, each by sh -e, in one folder and one database, and must
# exit 0, or N where the line before .Bd is a comment: .\" exit N
#
# In a block with lines that begin with "$ " only those are run; the others
# show output.  A follower (a command with -f) is ended by SIGTERM after it
# has worked for a second, and must exit 0 then.
#
# What a page finds:
#	subscription 1	tenant "", name shop, every type, http, answers 200
#	subscription 2	tenant acme, types invoice.*, http, answers 503
#	evt_paid	event order.paid of aggregate order-17, tenant ""
#	deliveries	41 delivered (evt_paid to 1); in the dead-letter queue
#			42 (503, to 2), 43 (410, to 2), 44 (503, to 1)
#	evt_new		an event not yet fanned out
#	inbox		messages 1 to 3 of source stripe wait, 17 is dead
#	on-payment	a handler that prints an event
#	payload.json	one JSON object; events.ndjson, two lines for -l
#	secret, old-secret	files with a whsec_ secret each
#	key		a file for HOOK_KEY_FILE
#	reshape.jq	a transform
# and nothing else: no page may need what another one made.
. "${0%/*}/lib.sh"
need_db
cluster_db=$PGDATABASE

sink <<-'EOT'
	/busy * status 503
EOT

fixture() {	# PAGE
	dir=$work/$1
	mkdir "$dir"
	PGDATABASE=$cluster_db sql "create database $2 template template0"
	export PGDATABASE=$2
	hook-migrate >/dev/null 2>&1
	printf '{"id": 17, "total": 1.0}' >"$dir/payload.json"
	cat >"$dir/events.ndjson" <<-'EOT'
	{"event_type":"order.made","aggregate_id":"order-1","payload":{"n":1}}
	{"event_type":"order.paid","aggregate_id":"order-1","payload":{"n":2}}
	EOT
	echo whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE= >"$dir/secret"
	echo whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE= \
	    >"$dir/old-secret"
	printf '%064d\n' 7 >"$dir/key"
	chmod 600 "$dir/secret" "$dir/old-secret" "$dir/key"
	echo '{order: .id}' >"$dir/reshape.jq"
	psql -X -q -v ON_ERROR_STOP=1 -v sink="$sink" <<-'EOT' >/dev/null
	insert into webhook_subscriptions (tenant, name, url, event_types)
	values ('', 'shop', :'sink' || '/hook', '{*}'),
	    ('acme', null, :'sink' || '/busy', '{invoice.*}');
	insert into webhook_secrets (subscription_id, secret)
	values (1, 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE='),
	    (2, 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=');
	insert into webhook_outbox (event_id, aggregate_id, event_type,
	    payload, tenant, fanned_out_at, fanned_out_to)
	values ('evt_paid', 'order-17', 'order.paid', '{"n":1}', '', now(), 2),
	    ('evt_due', 'inv-1', 'invoice.due', '{"n":2}', 'acme', now(), 1),
	    ('evt_sent', 'inv-1', 'invoice.sent', '{"n":3}', 'acme', now(), 1);
	insert into webhook_outbox (event_id, aggregate_id, event_type, payload)
	values ('evt_new', 'order-18', 'order.paid', '{"n":4}');
	insert into webhook_deliveries (id, outbox_id, outbox_created_at,
	    event_id, event_type, subscription_id, state, attempts,
	    give_up_at, finished_at, last_status, last_error, payload_bytes)
	select v.id, o.id, o.created_at, o.event_id, o.event_type, v.sub,
	    v.state, 1, now(), now(), v.status, v.why, 7
	from (values (41, 'evt_paid', 1, 'delivered', 200, null),
	    (42, 'evt_due', 2, 'expired', 503, 'status 503'),
	    (43, 'evt_sent', 2, 'failed', 410, 'status 410'),
	    (44, 'evt_paid', 1, 'expired', 503, 'status 503'))
	    as v (id, event, sub, state, status, why)
	join webhook_outbox o on o.event_id = v.event;
	insert into webhook_attempts (delivery_id, attempt, at, url, status,
	    duration_ms, error)
	select id, 1, now(), :'sink', last_status, 12, last_error
	from webhook_deliveries;
	select setval('webhook_deliveries_id_seq', 100);
	insert into webhook_inbox (source, message_id, event_type, body)
	select 'stripe', 'evt_' || n, 'charge.succeeded', convert_to(
	    '{"id":"evt_' || n || '","type":"charge.succeeded",'
	    '"data":{"object":{"customer":"cus_1"}}}', 'UTF8')
	from generate_series(1, 3) n;
	insert into webhook_inbox (id, source, message_id, event_type, body,
	    state, attempts, failures, finished_at, exit_status, last_error,
	    stderr_tail, failed_at)
	values (17, 'stripe', 'evt_17', 'charge.succeeded', '{}', 'dead', 3, 3,
	    now(), 1, 'exit status 1', 'no such order\012',
	    array[now(), now(), now()]);
	EOT
	cat >"$dir/on-payment" <<-'EOT'
	#!/bin/sh
	jq -c '{event_type: "payment.completed", payload: {id: .id}}'
	EOT
	chmod +x "$dir/on-payment"
}

# Write each block of a page to DIR/N.sh, the expected status to DIR/N.rc.
blocks() {	# PAGE DIR
	awk -v dir="$2" '
	/^\.Sh / { inside = ($0 == ".Sh EXAMPLES"); next }
	/^\.\\" exit [0-9]/ { rc = $3; next }
	inside && $0 == ".Bd -literal -offset indent" {
		file = dir "/" sprintf("%02d", ++n) ".sh"
		print "# line " NR >file
		print rc + 0 >(dir "/" sprintf("%02d", n) ".rc")
		copying = 1
		rc = 0
		next
	}
	copying && /^\.Ed/ { copying = 0; close(file); next }
	copying {
		gsub(/\\e/, "\\"); gsub(/\\&/, ""); gsub(/\\-/, "-")
		gsub(/\\\(aq/, "\047"); gsub(/\\\(dq/, "\"")
		gsub(/\\\(ti/, "~")
		gsub(/\\\(ha/, "^")
		print >file
		next
	}' "$1"
	for f in "$2"/[0-9][0-9].sh; do
		[ -e "$f" ] || continue
		! grep -q '^\$ ' "$f" || sed -i '/^\$ /!d; s/^\$ //' "$f"
	done
}

run_block() {	# FILE
	if grep -q -e ' -[a-z]*f\>' "$1" && grep -q 'hook-[fd][ae]\|hook-consume' "$1"; then
		(cd "$dir" && timeout --preserve-status -s TERM 1 \
		    sh -c "exec $(grep '^hook' "$1")")
	else
		(cd "$dir" && timeout 20 sh -e "$1")
	fi
}

n=0
for page in "$top"/man/*.[1-8]; do
	name=$(basename "$page")
	n=$((n + 1))
	fixture "$name" "${cluster_db}_$n"
	mkdir "$work/$name.d"
	blocks "$page" "$work/$name.d"
	for f in "$work/$name.d"/*.sh; do
		[ -e "$f" ] || continue
		if grep -q '^pg_dump' "$f" &&
		    [ "$(tool_is pg_dump)" = older ]; then
			skip "$name: pg_dump is older than the server"
			continue
		fi
		run run_block "$f"
		exits "$(cat "${f%.sh}.rc")" \
		    "$name: $(sed -n '2{s/#/\\#/g;p;}' "$f")" ||
		    note "$(cat "$f")"
	done
	case $name in
	*.1)	[ -e "$work/$name.d/01.sh" ]
		check "$name has examples" ;;
	esac
	PGDATABASE=$cluster_db sql "drop database ${cluster_db}_$n with (force)"
	export PGDATABASE="$cluster_db"
done

done_testing
