#!/bin/sh
# What an operator sets up: systemd's units, the settings, the crontab.
#
# systemd does not run here, so the units are judged by systemd-analyze, and
# the system calls that the programs make by what their units allow.
. "${0%/*}/lib.sh"
need_db
. "${0%/*}/wire.sh"
PATH=$PATH:/usr/sbin:/sbin
root=$work/root
run make -C "$top" install BUILD="$BUILD" SAN="${SAN-}" DESTDIR="$root" \
    PREFIX=/opt/hook
exits 0 'make install'
etc=$root/opt/hook/share/hookutils/etc
is "$(grep -rlE '/usr/local/(bin|share)' "$etc" | sed "s|$etc/||")" '' \
    'what is installed has the paths of its prefix'

# A system that has systemd's own units and ours.
units=$root/etc/systemd/system
mkdir -p "$units" "$root/usr/lib" "$root/bin" "$root/etc/hook/consume"
for d in /usr/lib/systemd /lib/systemd; do
	[ ! -d "$d/system" ] || { mkdir -p "$root/usr/lib/systemd" &&
	    cp -R "$d/system" "$root/usr/lib/systemd" && break; }
done
ln -s usr/lib "$root/lib"
cp /bin/sh "$root/bin"
cp /bin/true "$root/etc/hook/consume/x"
cp "$etc"/systemd/* "$units"
cd "$units" || exit
# shellcheck disable=SC2046 # several
verify() {
	run systemd-analyze verify --man=no "--root=$root" \
	    $(ls | sed 's/@/@x/')
}
verify
exits 0 'systemd understands all units'
is "$(cat "$work/out" "$work/err")" '' '... and has nothing to say'
sed 's|^ExecStart=.*|ExecStart=/nowhere|' hook-stat.service >bad.service
verify
exits 1 'one that is broken is found'
rm bad.service
exposure() {	# FILE
	run systemd-analyze security --offline=true --threshold=30 \
	    --no-pager "--root=$root" "$(echo "$1" | sed 's/@/@x/')"
}
for u in *.service; do
	exposure "$u"
	exits 0 "$u is exposed by less than 3" ||
	    note "$(tail -n 1 "$work/out")"
	for s in NoNewPrivileges=yes ProtectSystem=strict ProtectHome=yes \
	    PrivateTmp=yes SystemCallFilter= LimitNOFILE= Restart=on-failure \
	    LoadCredential= User=hook EnvironmentFile=-/etc/hook/env; do
		grep -q "^$s" "$u" || note "$u: no $s" | tee -a "$work/less"
	done
done
is "$(cat "$work/less" 2>/dev/null)" '' '... and hardened as all of them are'
grep -vE '^(Protect|Private|System|Restrict|NoNew|Capab|Memory)' \
    hook-fanout.service >bare.service
exposure bare.service
exits 1 'the same without its restrictions is more exposed'
rm bare.service
is "$(grep -l '^Type=notify' *.service | xargs)" \
    "$(grep -l '^WatchdogSec=' *.service | xargs)" \
    'what says that it is ready is watched'
is "$(grep -L '^Type=notify' *.service | sed 's/service$/timer/' | xargs)" \
    "$(echo *.timer)" 'the others have a timer each'
for u in hook-deliver@ hook-consume@; do
	grep -q '^KillMode=mixed' $u.service
	check "$u: children are not told of a stop"
done

# System calls, as the programs make them at work, and what a unit allows.
cat >"$work/calls.pl" <<'EOF'
my ($unit, @traces) = @ARGV;
my (%allowed, %set, $name, $families, $mdwe);
sub calls {
	my ($name) = @_;
	return $name if $name !~ /^@/;
	return map { calls($_) } @{$set{$name}};
}
open my $sets, '<', "$ENV{work}/sets" or die;
while (<$sets>) {
	$name = $1 if /^(@[\w-]+)/;
	push @{$set{$name}}, $1 if /^\s+([@\w-]+)/;
}
open my $u, '<', $unit or die "$unit: $!";
while (<$u>) {
	$families = $1 if /^RestrictAddressFamilies=(.*)/;
	$mdwe = 1 if /^MemoryDenyWriteExecute=yes/;
	next unless /^SystemCallFilter=(~?)(.*)/;
	my $not = $1;
	for my $call (map { calls($_) } split ' ', $2) {
		$not ? delete $allowed{$call} : ($allowed{$call} = 1);
	}
}
my (%bad, $n);
for (map { open my $t, '<', $_ or die; <$t> } @traces) {
	next unless /^(?:\d+ +)?(\w+)\((.*)/;
	my ($call, $args) = ($1, $2);
	$n++;
	$bad{$call} = 1 unless $allowed{$call};
	$bad{"$call $1"} = 1 if $call eq 'socket' && $args =~ /^(AF_\w+)/ &&
	    " $families " !~ / $1 /;
	$bad{"$call $args"} = 1 if $mdwe && $args =~ /PROT_EXEC/ &&
	    ($call =~ /mprotect/ || $args =~ /PROT_WRITE/);
}
print "$_\n" for sort keys %bad;
print "no calls\n" unless $n;
EOF
systemd-analyze --no-pager syscall-filter >"$work/sets" 2>/dev/null
export work
traced() {	# NAME COMMAND...: in the background, its calls in NAME.trace
	name=$1
	shift
	start env ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" \
	    strace -f -qq -o "$work/$name.trace" "$@"
}
end() {		# strace passes no signal on: end what it runs
	kill "$(ps -o pid= --ppid "$pid")"
	wait "$pid"
}
allowed() {	# UNIT [NAME]
	is "$(perl "$work/calls.pl" "$units/$1.service" \
	    "$work/${2-$1}.trace")" '' "$1 is allowed all that it does"
}

cd "$work" || exit
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
    -keyout tls.key -out tls.pem -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null
export HOOK_CA_FILE="$work/tls.pem"
sink -c tls.pem -k tls.key </dev/null
openssl rand -hex 32 >hook.key
chmod 600 hook.key
echo '{n: .n}' >jq
CREDENTIALS_DIRECTORY=$work hook-sub add -e order -x jq \
    "https://localhost:$sink_port/" >sub.json
echo secret >secret
CREDENTIALS_DIRECTORY=$work hook-source add -s github -k secret gh >source.json
is "$(sql "select left(secret, 10) from webhook_secrets")" sealed:v1: \
    'the credential hook.key seals like HOOK_KEY_FILE'
event order '{"n": 1}'
traced hook-fanout hook-fanout -f
wait_for 60 '[ "$(sql "select count(*) from webhook_deliveries")" = 1 ]'
end
export CREDENTIALS_DIRECTORY="$work"
traced hook-deliver@ hook-deliver -f
wait_for 60 '[ "$(sql "select state from webhook_deliveries")" = delivered ]' \
    'a transform, and TLS' || note "$(cat "$log")"
end
traced hook-receive hook-receive -l 127.0.0.1:0 -P 127.0.0.1
receiver=$pid
wait_for 60 'grep -q listening "$log"'
at=$(sed -n 's/.*address=//p' "$log")
mac=$(printf '{}' | openssl dgst -sha256 -hmac secret | sed 's/.* //')
wait_for 60 '[ "$(curl -s -o /dev/null -w "%{http_code}" -d "{}" \
    -H "X-Hub-Signature-256: sha256=$mac" -H "X-GitHub-Delivery: 1" \
    "http://$at/webhooks/gh")" = 202 ]' 'a message that comes in'
end
traced hook-consume@ hook-consume -f -s gh -- /bin/sh -c \
    'cat >"$HOOK_MESSAGE_ID"; mktemp; ls -l'
wait_for 60 '[ "$(sql "select state from webhook_inbox")" = done ]' \
    '... and is handled'
end
stat_port=$(port)
traced hook-stat hook-stat -l "127.0.0.1:$stat_port"
wait_for 60 'curl -s -f "http://127.0.0.1:$stat_port/metrics" >metrics'
end
for name in prune reconcile doctor; do
	traced hook-$name hook-$name
	wait "$pid"
done
traced hook-alert hook-dlq alert
wait "$pid"
for u in "$units"/*.service; do
	u=${u##*/}
	allowed "${u%.service}"
done
sed '/landlock/d' "$units/hook-deliver@.service" >"$units/bare.service"
perl calls.pl "$units/bare.service" hook-deliver@.trace | grep -q landlock
check 'what a unit does not allow is seen: Landlock, of a transform'
unset CREDENTIALS_DIRECTORY HOOK_CA_FILE

# The settings: what is said there is read, and what is read is said there.
settings() {	# FILE: the variables, also those that are commented out
	sed -nE 's/^#?([A-Z_]+)=.*/\1/p' "$1" | sort -u
}
settings "$etc/env" >said
is "$(grep -c . said)" "$(sed -nE 's/^#?([A-Z_]+)=.*/\1/p' "$etc/env" |
    sort | grep -c .)" 'nothing is said twice in env'
# Secrets and what only developers want are not settings of services.
grep -rhoE 'getenv\("(HOOK|PG)[A-Z_]*"\)|\$\{(HOOK|PG)[A-Z_]*' "$top/cmd" \
    "$top/lib" "$top/scripts/hook" "$top/scripts/hook-migrate" |
    grep -oE '(HOOK|PG)[A-Z_]+' | sort -u | grep -vE '^HOOK_(SECRET|SQL)$' \
    >asked
is "$(comm -13 said asked | xargs)" '' 'every variable that is read is in env'
libpq=$(ldd "$BUILD/hook-fanout" | sed -nE 's/.*=> (.*libpq[^ ]*).*/\1/p')
grep -aoE 'PG[A-Z_]{3,}' "$libpq" | sort -u >>asked
is "$(sort -u asked | comm -23 said - | xargs)" '' \
    'everything in env is read, by us or by libpq'
sed -E 's/^#([A-Z_]+=)/\1/' "$etc/env" | grep -E '^[A-Z_]+=' | sort >plain
env -i sh -c 'set -a; . "$1"; exec env' sh "$work/plain" |
    grep -E '^(HOOK|PG)' | sort >sourced
is "$(cat sourced)" "$(cat plain)" \
    'the shell reads it as systemd does: there is nothing to expand'

# The crontab: what cron would run, with nothing but what it says itself.
mkdir hook lock bin
{
	cat "$etc/env"
	env | grep -E '^(PG|HOOK_SCHEMA|ASAN|UBSAN)' | sed "s/=\(.*\)/='\1'/"
} >hook/env
printf '#!/bin/sh\ncat >>%s/log.$2\n' "$work" >bin/logger
printf '#!/bin/sh\ncat >handled\n' >handler
chmod +x bin/logger handler
rcv_port=$(port)
stat_port=$(port)
sed -e "s|/etc/hook/consume/github|$work/handler|; s/-s github/-s gh/" \
    -e "s|/etc/hook|$work/hook|g; s|/run/lock|$work/lock|g" \
    -e "s|hook-receive -P|hook-receive -l 127.0.0.1:$rcv_port -P|" \
    -e "s|127.0.0.1:9464|127.0.0.1:$stat_port|" -e 's/^#\* /* /' \
    "$etc/crontab" | grep -v '^#' >table
grep -vE '^([A-Z]+=.*)?$' table >joblist
is "$(grep -cvE '^([0-9*]+ ){4}[0-9*]+	[^ %]' joblist)" 0 \
    'each line has five times and a command, without a % of cron'
is "$(grep -oE 'flock -n [^ ]+ hook-[a-z]+' joblist | sed 's/.* //' | sort |
    xargs)" \
    "hook-consume hook-deliver hook-dlq hook-doctor hook-fanout hook-prune \
hook-receive hook-reconcile hook-stat" \
    '... and runs a tool of its own, one at a time'
is "$(sed -nE 's/.*flock -n ([^ ]+).*/\1/p' joblist | sort | uniq -d)" '' \
    '... with a lock of its own'
cron_path=$root/opt/hook/$(sed -n 's|^PATH=/opt/hook/||p' table)
job() {	# TOOL SECONDS: the line's command
	line=$(grep -F " $1 " joblist | sed 's/^[^	]*	//')
	$with env -i "PATH=$work/bin:$cron_path" HOME=/nonexistent \
	    timeout "$2" "$(sed -n '/^SHELL=/s/.*=//p' table)" -c "$line"
}
for tool in fanout deliver receive stat consume; do
	with='exec'
	job hook-$tool 600 >"cron.$tool" 2>&1 &
	pids="$pids $!"
done
for tool in fanout deliver consume; do
	wait_for 60 'sql "select tool from webhook_workers" |
	    grep -qx "hook-$tool"' "cron starts hook-$tool" ||
	    note "$(cat "log.hook-$tool" "cron.$tool")"
done
for at in "$rcv_port/readyz" "$stat_port/metrics"; do
	wait_for 60 'curl -s -f -o /dev/null "http://127.0.0.1:$at"' \
	    "cron starts what answers at /${at#*/}"
done
grep -q 'listening' log.hook-receive
check '... and its log goes to syslog'
with=
for tool in fanout deliver receive stat consume; do
	run job hook-$tool 60
	is "$(cat out err)" '' "hook-$tool that runs is left alone"
done
for tool in prune reconcile dlq; do
	run job hook-$tool 60
	exits 0 "cron runs hook-$tool"
	is "$(cat out err)" '' '... and says nothing: all is well'
done
echo PGDATABASE=nowhere >>hook/env
for tool in prune reconcile doctor dlq; do
	run job hook-$tool 60
	is "$(cat err)" '' "hook-$tool that finds no database"
	grep -q nowhere out
	check '... is heard of'
done
done_testing
