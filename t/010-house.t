#!/bin/sh
# The house: what is installed, packed, said and listed hangs together.
. "${0%/*}/lib.sh"
need_db
cd "$top" || exit
MAKEFLAGS=
export MAKEFLAGS

tools=$(cd cmd && ls hook-*.c | sed 's/\.c$//')
version=$(sed -n 's/^VERSION	= //p' Makefile)

run make install BUILD="$BUILD" SAN="${SAN-}" DESTDIR="$work/root" PREFIX=/usr
exits 0 'make install'
want=$({
	for t in $tools hook hook-migrate; do
		echo "bin/$t"
	done
	(cd man && ls ./*.[1-8] |
	    sed 's|^\./\(.*\)\.\(.\)$|share/man/man\2/\1.\2|')
	(cd sql && ls schema/*.sql partitions.sql |
	    sed 's|^|share/hookutils/sql/|')
	for t in $tools hook hook-migrate; do
		echo "share/bash-completion/completions/$t"
	done
	echo share/hookutils/completion
	echo share/zsh/site-functions/_hook
} | sort)
have=$(cd "$work/root/usr" && find . -path ./share/hookutils/etc -prune -o \
    ! -type d -printf '%P\n' | sort)
is "$have" "$want" '... installs every tool, page, schema file, no more'
is "$(find "$work/root" -path "$work/root/usr" -prune -o -type f -print)" '' \
    '... and nothing outside PREFIX'
DESTDIR=/dest PREFIX=/opt run make -n install BUILD="$BUILD" SAN="${SAN-}"
like "$(cat "$work/out")" '/dest/opt/' 'both count from the environment, too'
SOAK=7 run make -n soak BUILD="$BUILD" SAN="${SAN-}"
like "$(cat "$work/out")" 'SOAK=7 ' '... and so does SOAK'

PATH=$work/root/usr/bin:/usr/bin:/bin HOOK_SCHEMA=installed run hook migrate
exits 0 'the installed hook finds the installed hook-migrate and its schema'
like "$(cat "$work/out")" '^applied 0001' '... which works'

# Unpacked elsewhere, it builds; what git does not know is not in it.
run make dist BUILD="$work"
exits 0 'make dist'
mkdir "$work/dist"
tar -xzf "$work/hookutils-$version.tar.gz" -C "$work/dist"
is "$(ls "$work/dist")" "hookutils-$version" '... packs one folder'
run make -C "$work/dist/hookutils-$version" -j2 BUILD=b CFLAGS=-O0 all
exits 0 '... that builds'

for t in $tools hook-migrate hook; do
	run "$t" -V
	is "$rc $(cat "$work/out" "$work/err")" "0 $version" "$t -V"
	run "$t" -h
	exits 0 "$t -h is no error"
	like "$(head -n 1 "$work/out")" "^usage: $t " '... and prints the usage'
	is "$(cat "$work/err")" '' '... on standard output'
	run "$t" -%
	exits 64 "$t with an unknown option is a usage error"
	like "$(cat "$work/err")" "^usage: $t " '... on standard error'
	is "$(grep -c ^usage: "$work/err")" 1 '... in one line'
	[ -f "man/$t.1" ]
	check "$t has a page"
	grep -q "^\.Xr $t 1\|^\.It Xr $t 1\|Xr $t 1" man/hook.7
	check '... and hook(7) names it'
	case $t in
	hook) continue ;;
	esac
	like "$(hook)" "^${t#hook-} " '... and "hook" lists it'
	like "$(cat README.md)" "$t" '... and the README'
done

# The words of the pages are the order that readers know.
for p in man/*.[1-8]; do
	is "$(sed -n 's/^\.Sh //p' "$p" | head -n 1)" NAME "$p begins with NAME"
	grep -q '^\.Sh SEE ALSO' "$p"
	check '... and ends with where to read on'
	case $p in
	*.1)	is "$(sed -n 's/^\.Sh //p' "$p" |
		    grep -E '^(SYNOPSIS|DESCRIPTION|EXIT|EXAMPLES)' | xargs)" \
		    'SYNOPSIS DESCRIPTION EXIT STATUS EXAMPLES' \
		    '... with all of its parts in order' ;;
	esac
done
for x in $(sed -n 's/.*Xr \(hook[a-z-]*\) \([1-8]\).*/\1.\2/p' man/* |
    sort -u); do
	[ -f "man/$x" ]
	check "a page points at $x, which exists"
done

# Every statement is accepted by the real schema, and says what it is.
for f in sql/query/*.sql; do
	name=$(basename "$f" .sql)
	{
		echo "prepare \"$name\" as"
		grep -v '^--' "$f"
		echo ';'
	} >"$work/statement"
	run psql -X -q -v ON_ERROR_STOP=1 -f "$work/statement"
	is "$rc $(cat "$work/err")" '0 ' "$name prepares"
	like "$(head -n 1 "$f")" "^-- $name: .*" '... and opens with what it is'
	# What its parameters are; "as in NAME" borrows from there.
	{
		grep '^--' "$f"
		for as in $(sed -n 's/^--.*\bas in \([a-z_]*\).*/\1/p' "$f"); do
			grep -s '^--' "sql/query/$as.sql"
		done
	} >"$work/comments"
	for p in $(grep -v '^--' "$f" | grep -o '\$[0-9][0-9]*' | sort -u); do
		grep -q "\\$p\b" "$work/comments"
		check "... and with what $p is"
	done
done

# hook-schema(5) has every table and column, and the order of the table's.
sql "select c.relname || ' ' || attname
    from pg_class c join pg_attribute a on attrelid = c.oid
    where relnamespace = 'public'::regnamespace and attnum > 0
    and relkind in ('r', 'p', 'v') and not attisdropped
    and not exists (select from pg_inherits where inhrelid = c.oid)
    order by c.relname, attnum" >"$work/columns"
awk '/^\.Ss webhook_/ { t = $2 }
    /^\.Sh/ { t = "" }
    /^\.It Va / && t != "" { print t, $3 }' man/hook-schema.5 |
    sort -s -k1,1 >"$work/documented"
is "$(cat "$work/documented")" "$(sort -s -k1,1 "$work/columns")" \
    'hook-schema(5) has every column of every table'
is "$(sql "select rolname from pg_roles where rolname ~ '^webhook_'
    order by 1")" "$(sed -n 's/^\.It Li \(webhook_.*\)/\1/p' \
    man/hook-schema.5 | sort)" '... and every role'
for c in $(sql "select distinct conname from pg_constraint
    join pg_class c on c.oid = conrelid where contype = 'c'
    and relnamespace = 'public'::regnamespace and not relispartition
    and conname ~ 'state|breaker'"); do
	grep -q "$c" man/hook-schema.5
	check "... and the constraint $c"
done

is "$(cd sql/schema && ls | cut -c1-4 | xargs)" \
    "$(seq -f %04g "$(ls sql/schema | wc -l)" | xargs)" \
    'the schema files are numbered without a gap'
like "$(sed -n '/^## /{p;q;}' NEWS.md)" "^## $version" \
    'NEWS begins with this version'
is "$(find t/*.t ! -perm -111)" '' 'every test script can be run'
is "$(for t in t/*.t; do
	tail -n 1 "$t" | grep -qE '^done_testing$|^[A-Z=${}:0-9-]* ?exec ' ||
	    echo "$t"
done)" '' '... and ends with its plan, or as another one'
is "$(for t in $tools; do
	grep -qw "$t" t/[1-8]*.t || echo "$t"
done)" '' 'every tool is run by a test script'

done_testing
