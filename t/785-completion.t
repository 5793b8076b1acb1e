#!/bin/sh
# Completion: bash and zsh offer every option that a tool's -h has, no other,
# and what an option takes.
. "${0%/*}/lib.sh"

c=$top/scripts/completion
tools="hook-migrate $(cd "$top/cmd" && ls hook-*.c | sed 's/\.c$//' | xargs)"

run "$c/update" -n
exits 0 'the table is made from what -h says'
is "$(diff "$c/options" "$work/out")" '' \
    '... and is the one that is there, or run scripts/completion/update'
# That the making leaves nothing out, told by another way of reading -h.
for t in $tools; do
	"$t" -h | sed -n '/^usage: /{s/^[^[]*//;s/--[a-z]/\n&/gp;}' |
	    sed -n 's/^\(--[a-z0-9-]*\).*/\1/p'
	"$t" -h | sed -n 's/^usage: //p' | tr -s '[]| ' '\n\n\n\n' |
	    sed -n 's/^-\([A-Za-z0-9]*\)$/\1/p' | sed 's/./-&\n/g'
done | sed /^$/d | sort -u >"$work/said"
sed 1d "$c/options" | tr ' ' '\n' | sed -n 's/^\(-[^:]*\).*/\1/p' |
    grep -vx -e - | sort -u >"$work/table"
is "$(cat "$work/table")" "$(cat "$work/said")" '... all options are in it'
is "$(sed 's/ .*//;/^#/d' "$c/options" | sort -u | xargs)" \
    "$(echo "$tools" | tr ' ' '\n' | sort | xargs)" '... of all tools'

run shellcheck -e SC2012 "$c/hook.bash" "$c/update"
is "$rc $(cat "$work/out")" '0 ' 'the one for bash is sound'

# As installed, and as they lie here.
run make -C "$top" install-completion DESTDIR="$work/root" PREFIX=/usr \
    BUILD="$BUILD"
exits 0 'make install-completion'
share=$work/root/usr/share

# LINE-UP-TO-THE-CURSOR: what is offered, a word a line.
cat >"$work/ask.bash" <<'EOF'
compopt() { :; }
. "$1"
while IFS= read -r line; do
	read -ra COMP_WORDS <<<"$line"
	[ "${line% }" = "$line" ] || COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	_hook
	echo "$line=> ${COMPREPLY[*]}"
done
EOF
cat >"$work/ask.zsh" <<'EOF'
compadd() { offered+=(${${@:#--}}) }
_message() { }
ask() { . $1 }
while IFS= read -r line; do
	words=(${=line})
	[[ $line == *' ' ]] && words+=('')
	CURRENT=$#words PREFIX=$words[-1] offered=()
	ask $1
	print -r -- "$line=> ${(M)offered:#$PREFIX*}"
done
EOF
sorted() {	# lines of "ask": their words in order
	while IFS= read -r line; do
		echo "${line%%=> *}=> $(echo "${line#*=> }" | tr ' ' '\n' |
		    LC_ALL=C sort | xargs)"
	done
}
# For each row of the table a "-", and what is to be offered there.
awk '!/^#/ { h = $1 ($2 == "-" ? "" : " " $2) " -"
	if (!(h in all)) key[++n] = h
	for (i = 3; i <= NF; i++) { sub(/:.*/, "", $i); all[h] = all[h] " " $i }
} END { for (i = 1; i <= n; i++) print key[i] "=>" all[key[i]] }' \
    "$c/options" | sorted >"$work/want"
sed 's/=>.*//' "$work/want" >"$work/lines"
for f in "$c/hook.bash" "$share/bash-completion/completions/hook" \
    "$share/bash-completion/completions/hook-sub" \
    "$c/_hook" "$share/zsh/site-functions/_hook"; do
	sh=${f##*/}
	case $sh in
	_hook)	sh=zsh ;;
	*)	sh=bash ;;
	esac
	$sh "$work/ask.$sh" "$f" <"$work/lines" 2>"$work/err" |
	    sorted >"$work/got"
	is "$(cat "$work/got" "$work/err")" "$(cat "$work/want")" \
	    "${f#"$work/root"}: each option of each tool is offered"
done

# Typed in a shell, with a TAB: what runs then.
cat >"$work/bashrc" <<'EOF'
PS1=ready
. $share/bash-completion/completions/hook
EOF
cat >"$work/.zshrc" <<'EOF'
PS1=ready
fpath=($share/zsh/site-functions $fpath)
autoload -Uz compinit
compinit -u -d $work/zcompdump
EOF
cat >"$work/shell.rc" <<'EOF'
hook() { echo "hook $*" >>$log; }
hook-sub() { echo "hook-sub $*" >>$log; }
hook-dlq() { echo "hook-dlq $*" >>$log; }
hook-consume() { echo "hook-consume $*" >>$log; }
hook-sign() {
	[ "$1" != -l ] || { command hook-sign "$@"; return; }
	echo "hook-sign $*" >>$log
}
EOF
cat "$work/shell.rc" >>"$work/bashrc"
cat "$work/shell.rc" >>"$work/.zshrc"
cat >"$work/type.zsh" <<'EOF'
zmodload zsh/zpty zsh/datetime
typed=0
zpty shell "$@"
zpty -r shell junk '*ready*'
while IFS= read -r line; do
	zpty -w -n shell $line$'\t\n'
	(( typed++ ))
	end=$(( EPOCHSECONDS + 30 ))
	while (( $(wc -l <$log) < typed && EPOCHSECONDS < end )); do
		zpty -r -t shell junk
		sleep 0.02
	done
done
zpty -d shell
EOF
export work share
echo k >"$work/a-secret"
cat >"$work/typed" <<EOF
hook rep|hook replay
hook dlq ret|hook dlq retry
hook-sub pau|hook-sub pause
hook-sub add --ed|hook-sub add --ed25519
hook-sub add -b env|hook-sub add -b envelope
hook-sub add -k $work/a-sec|hook-sub add -k $work/a-secret
hook sub list -o js|hook sub list -o json
hook-dlq list -o ta|hook-dlq list -o table
hook-sign -s lemon|hook-sign -s lemonsqueezy
hook-dlq list -t --unt|hook-dlq list -t --unt
hook-consume -s x -- true $work/a-sec|hook-consume -s x -- true $work/a-secret
hook-consume -s x -- shellch|hook-consume -s x -- shellcheck
EOF
for sh in bash zsh; do
	export log="$work/$sh.log"
	: >"$log"
	case $sh in
	bash)	set -- bash --noprofile --rcfile "$work/bashrc" -i ;;
	zsh)	set -- env ZDOTDIR="$work" zsh -d -i ;;
	esac
	sed 's/|.*//' "$work/typed" | zsh -f "$work/type.zsh" "$@"
	is "$(sed 's/ *$//' "$log")" "$(sed 's/.*|//' "$work/typed")" \
	    "$sh: a TAB completes tools, subcommands, options, values, files"
done

done_testing
