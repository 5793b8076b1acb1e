# shellcheck shell=bash
# Completion of hook and the hook-* tools for bash: from the table "options",
# which lies beside this file, or where it is installed.

_hook_dir=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
_hook_table=$_hook_dir/options
[ -e "$_hook_table" ] || _hook_table=$_hook_dir/../../hookutils/completion
unset _hook_dir

_hook() {
	local cur=${COMP_WORDS[COMP_CWORD]} tool=${COMP_WORDS[0]##*/} at=1
	local sub subs options
	COMPREPLY=()

	if [ "$tool" = hook ]; then
		if [ "$COMP_CWORD" = 1 ]; then
			_hook_words "$(sed -n 's/^hook-\([a-z]*\) .*/\1/p' \
			    "$_hook_table" | sort -u) -h -V"
			return
		fi
		tool=hook-${COMP_WORDS[1]}
		at=2
	fi

	subs=$(_hook_row "$tool" | cut -d ' ' -f 1 | sort -u)
	sub=-
	if [ "$subs" != - ]; then
		if [ "$COMP_CWORD" = $at ]; then
			_hook_words "$subs -h -V"
			return
		fi
		sub=${COMP_WORDS[at]}
		at=$((at + 1))
	fi
	options=$(_hook_row "$tool $sub")

	_hook_command "$at" && return
	_hook_value "$(_hook_takes "${COMP_WORDS[COMP_CWORD - 1]}")" && return
	case $cur in
	-*)	_hook_words "$(printf %s "$options" | sed 's/:[^ ]*//g')" ;;
	esac
}

# The rest of the table's rows that begin so.
_hook_row() {
	sed -n "s/^$1 //p" "$_hook_table"
}

_hook_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

_hook_files() {
	mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	compopt -o filenames
}

# What an option takes, by the table.
_hook_takes() {
	printf %s "$options" | tr ' ' '\n' | sed -n "s/^$1://p"
}

# Offers values; false where the word before takes none.
_hook_value() {
	case $1 in
	'')	return 1 ;;
	form)	_hook_words 'table json' ;;
	scheme)	_hook_words "$(hook-sign -l -o json 2>/dev/null |
		    sed 's/.*"scheme":"\([a-z0-9_]*\)".*/\1/')" ;;
	*file)	_hook_files ;;
	*\|*)	_hook_words "${1//|/ }" ;;
	esac
	return 0
}

# After "--" stands a command and what it takes: of hook-consume.
_hook_command() {	# INDEX
	local i
	[ "$tool" = hook-consume ] || return 1
	for ((i = $1; i < COMP_CWORD; i++)); do
		[ "${COMP_WORDS[i]}" = -- ] || continue
		if [ $((i + 1)) = "$COMP_CWORD" ]; then
			mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		else
			_hook_files
		fi
		return 0
	done
	return 1
}

# shellcheck disable=SC2046 # several words
complete -F _hook hook \
    $(sed -n 's/^\(hook-[a-z]*\) .*/\1/p' "$_hook_table" | sort -u)
