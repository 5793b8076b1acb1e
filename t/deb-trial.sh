#!/bin/sh
# deb-trial: the Debian package in a fresh Debian with a systemd that runs:
# installed, upgraded from 0.1.0 with rows in the queue, upgraded again,
# removed, purged.
#
# As root; it needs debootstrap, systemd-container and the commit of 0.1.0,
# takes some minutes, and leaves nothing.  The fresh Debian has a network of
# its own; only debootstrap reaches for packages.
set -u
if [ "$(id -u)" != 0 ]; then
	echo 'deb-trial: only root can try it' >&2
	exit 77
fi
for c in debootstrap systemd-nspawn nsenter dpkg-buildpackage dh; do
	command -v $c >/dev/null && continue
	echo "deb-trial: $c: not found; please install debootstrap," \
	    'systemd-container, dpkg-dev and debhelper' >&2
	exit 69
done
# The root is full of files: on a file system of its own it goes at once.
if [ -z "${OWN_MOUNTS-}" ]; then
	OWN_MOUNTS=1 exec unshare -m "$0" "$@"
fi
. "${0%/*}/lib.sh"
cd "$top" || exit
MAKEFLAGS=
SAN=
export MAKEFLAGS SAN

step() {
	echo "# $(date +%T) $*" >&2
}

# The last commit before the schema of 0.2.0 began, packaged as it is today.
old_package() {
	first_new=$(git log --diff-filter=A --format=%h -- \
	    'sql/schema/0008-*') || return
	mkdir "$work/old"
	git archive "$first_new^" | tar -x -C "$work/old" || return
	cp -R debian "$work/old" && cd "$work/old" || return
	rm -rf scripts/etc debian/NEWS debian/hookutils.docs
	cp -R "$top/scripts/etc" "$top/scripts/completion" scripts
	sed -i '/^hookutils (0\.1\.0)/,$!d' debian/changelog
	DEB_BUILD_OPTIONS='noautodbgsym parallel=2' \
	    dpkg-buildpackage -us -uc -b >"$work/old.log" 2>&1
}

# The new one once more, under a higher version.
next_package() {
	dpkg-deb -R "$work/new.deb" "$work/next"
	sed -i 's/^Version: .*/&+1/' "$work/next/DEBIAN/control"
	dpkg-deb -Znone -b "$work/next" "$work/next.deb" >/dev/null
}

fresh_debian() {
	site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' |
	    head -n 1)
	release=$(. /etc/os-release && echo "$VERSION_CODENAME")
	depends=$(dpkg-deb -f "$work/new.deb" Depends | sed 's/([^)]*)//g' |
	    tr -d ' ')
	debootstrap --variant=minbase \
	    --include="systemd-sysv,dbus,procps,postgresql,$depends" \
	    "$release" "$root" "$site" >"$work/debootstrap.log" 2>&1
}

boot() {
	start systemd-nspawn -q -D "$root" --register=no --keep-unit \
	    --private-network --link-journal=no -b
	box=$pid
	wait_for 120 'leader=$(pgrep -P $box) &&
	    in_box systemctl -q is-active postgresql 2>/dev/null' \
	    'a fresh Debian is up'
}

in_box() {
	nsenter -t "$leader" -m -u -i -n -p -C -- env -i LC_ALL=C TZ=UTC \
	    PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}
# With the settings that the services have.
as_hook() {
	in_box runuser -u hook -- env $settings "$@"
}
shop() {
	as_hook psql -X -q -A -t -c "$1"
}
main_pid() {
	in_box systemctl show -P MainPID "$1"
}
# What is enabled or runs of ours.
on() {
	in_box sh -c 'systemctl list-unit-files "hook-*" --no-legend |
	    awk "\$2 ~ /^enabled/ { print \$1 }"
	    systemctl list-units "hook-*" --state active --no-legend --plain |
	    awk "{ print \$1 }"' | sort | xargs
}
orders() {	# FROM TO
	shop "insert into webhook_outbox
	    (aggregate_id, event_type, payload, api_version)
	    select 'order-' || i, 'order.paid',
	    json_build_object('id', i), 'v1' from generate_series($1, $2) i"
}

step 'packages of this version, of 0.1.0, and of the next'
make --no-print-directory deb BUILD="$work/b" >"$work/deb.log" 2>&1
check 'the package is made' || { cat "$work/deb.log"; exit 1; }
cp "$(tail -n 1 "$work/deb.log")" "$work/new.deb"
(old_package) && cp "$work"/hookutils_0.1.0_*.deb "$work/old.deb"
check '... and that of 0.1.0' || { tail "$work/old.log"; exit 1; }
next_package

step 'debootstrap'
root=/mnt/root
mount -t tmpfs tmpfs /mnt && mkdir $root && fresh_debian
check 'debootstrap' || { tail "$work/debootstrap.log"; exit 1; }
make BUILD="$BUILD" "${BUILD#"$top"/}/t/sink" >/dev/null || exit
mkdir $root/trial
cp "$BUILD/t/sink" "$work/old.deb" "$work/new.deb" "$work/next.deb" $root/trial
: >$root/trial/rules
boot || { tail "$log"; exit 1; }

settings='PGDATABASE=shop HOOK_ALLOW_NET=127.0.0.0/8'
in_box runuser -u postgres -- sh -c 'createuser hook && createdb -O hook shop'
run in_box dpkg -i /trial/old.deb
exits 0 '0.1.0 is installed'
is "$(on)" '' '... nothing is enabled, nothing runs'
run as_hook hook-migrate
exits 0 '... the user hook can make the tables'
as_hook hook-sub add -e 'order.*' http://127.0.0.1:9000/ >/dev/null
orders 1 100

# As somebody ran 0.1.0, who wrote units of his own; his customer is down.
for t in fanout deliver; do
	in_box systemd-run -q -u old-$t -p User=hook \
	    -E PGDATABASE=shop -E HOOK_ALLOW_NET=127.0.0.0/8 hook-$t -f
done
wait_for 60 '[ "$(shop "select count(*), max(attempts) > 0
    from webhook_deliveries where state = '\''pending'\''")" = "100|t" ]' \
    '... 100 rows are pending, some were tried'
old_pids=$(main_pid old-fanout)\ $(main_pid old-deliver)

step upgrade
run in_box dpkg -i /trial/new.deb
exits 0 'the upgrade with rows in the queue'
like "$(cat "$work/out")" 'Type hook-migrate' '... says what to do next'
is "$(on)" '' '... enables and starts nothing'
orders 101 200
is "$(main_pid old-fanout) $(main_pid old-deliver)" "$old_pids" \
    '... and what runs goes on'
run as_hook hook-fanout
exits 69 'a new tool refuses the old schema'
run as_hook hook-migrate
exits 0 'hook-migrate, while the old ones run'
like "$(cat "$work/out")" '^applied 0008' '... brings the new tables'
in_box systemctl stop old-fanout old-deliver

umask 077
openssl rand -hex 32 >$root/trial/key
mkdir -p $root/etc/credstore && cp $root/trial/key $root/etc/credstore/hook.key
umask 022
in_box chown hook /trial/key
printf '\n%s\n' $settings >>$root/etc/hook/env
run in_box systemctl enable --now hook-fanout hook-deliver@1 hook-deliver@2
exits 0 'the new ones are started by their units'
in_box systemd-run -q -u sink /trial/sink -q -l 127.0.0.1:9000 \
    -d /trial -r /trial/rules
wait_for 120 '[ "$(shop "select count(*) from webhook_deliveries
    where state = '\''delivered'\''")" = 200 ]' 'all 200 are delivered'
run as_hook hook-reconcile
exits 0 '... and nothing is missing'

step 'upgrade again'
before=$(main_pid hook-fanout)\ $(main_pid hook-deliver@1)
was_on=$(on)
run in_box dpkg -i /trial/next.deb
exits 0 'an upgrade with the same schema'
wait_for 60 '[ "$(main_pid hook-fanout)" != "${before% *}" ] &&
    [ "$(main_pid hook-deliver@1)" != "${before#* }" ]' \
    '... restarts what runs, instances too'
is "$(on)" "$was_on" '... and nothing else'
like "$(tail -n 1 $root/etc/hook/env)" HOOK_ALLOW_NET \
    '... and keeps the settings'
orders 201 300
wait_for 120 '[ "$(shop "select count(*) from webhook_deliveries
    where state = '\''delivered'\''")" = 300 ]' '... and 100 more go out'

step 'every unit, from an event to its handler'
as_hook env HOOK_KEY_FILE=/trial/key hook-sub add -e 'circle.*' \
    http://127.0.0.1:8080/webhooks/self |
    jq -r .secret >$root/trial/secret
as_hook env HOOK_KEY_FILE=/trial/key \
    hook-source add -s standard -k /trial/secret self >/dev/null
check 'a sealed subscription to our own receiver'
mkdir $root/etc/hook/consume
printf '#!/bin/sh\ncat >>"$STATE_DIRECTORY/seen"\n' >"$work/self"
install -m 755 "$work/self" $root/etc/hook/consume
run in_box systemctl enable --now hook-receive.socket hook-consume@self \
    hook-stat hook-prune.timer hook-reconcile.timer hook-doctor.timer \
    hook-alert.timer
exits 0 'the other units are started'
shop "insert into webhook_outbox
    (aggregate_id, event_type, payload, api_version)
    values ('c', 'circle.closed', '{\"round\": 1.0}', 'v1')"
wait_for 120 '[ -s $root/var/lib/hook/self/seen ]' \
    '... an event comes round to its handler'
like "$(cat $root/var/lib/hook/self/seen)" '"round": 1\.0' '... as it was'
for t in prune reconcile; do
	run in_box systemctl start hook-$t
	exits 0 "... hook-$t.service does its work"
done
# What they find is their business: that they could look is ours.
for t in doctor alert; do
	in_box systemctl start hook-$t 2>/dev/null
	like "$(in_box systemctl show -P ExecMainStatus hook-$t)" '^[0-3]$' \
	    "... hook-$t.service, too"
done
in_box perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(
    "127.0.0.1:9464") or die; print $s "GET /metrics HTTP/1.0\r\n\r\n";
    print <$s>' >"$work/metrics"
like "$(cat "$work/metrics")" '^hook_' '... and metrics are served'

step 'remove, purge'
run in_box dpkg --remove hookutils
exits 0 'removing it'
is "$(on)" '' '... stops what runs'
run in_box dpkg --purge hookutils
exits 0 'purging it'
is "$(in_box find / -xdev \( -path /proc -o -path /trial -o -path /tmp \
    -o -path /var/lib/postgresql -o -path /sys \) -prune -o \
    \( -name 'hook[-u]*' -o -name hook -o -name _hook -o -name hook.key \
    -o -path '/etc/hook/*/*' \) \
    -print | sort)" '/etc/credstore/hook.key
/etc/hook
/etc/hook/consume/self' '... leaves what the operator put there'
is "$(shop "select count(*) from webhook_deliveries
    where state = 'delivered'")" 301 '... and the database as it was'
run in_box dpkg -i /trial/new.deb
exits 0 'it can be installed again'
run as_hook hook-reconcile
exits 0 '... and finds the rows'

done_testing
exit $((n_failed > 0))
