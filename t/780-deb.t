#!/bin/sh
# make deb: a package that lintian has nothing against, and what installing,
# upgrading, removing and purging it do to a system.  With a systemd that
# runs and rows in the queue it is tried by scripts/deb-trial.

# What is mounted below is seen by this script alone, and goes with it.
if [ -z "${OWN_MOUNTS-}" ]; then
	[ "$(id -u)" = 0 ] && sudo= || sudo=sudo
	exec $sudo unshare -m env OWN_MOUNTS=1 BUILD="${BUILD:-build}" sh "$0"
fi
. "${0%/*}/lib.sh"
cd "$top" || exit
version=$(sed -n 's/^VERSION	= //p' Makefile)

is "$(sed -n 's/^hookutils (\(.*\)) .*/\1/p' debian/changelog | xargs)" \
    "$(sed -n 's/^## \([0-9.]*\),.*/\1/p' NEWS.md | xargs)" \
    'the changelog of the package has the versions of NEWS'
is "$(dpkg-parsechangelog -S Version)" "$version" '... and begins with this'

# Neither optimised nor with symbols: that is quicker to make.
DEB_CFLAGS_APPEND=-g0 DEB_BUILD_OPTIONS='noopt noautodbgsym' \
    MAKEFLAGS='' SAN='' run make deb BUILD="$work/b"
exits 0 'make deb'
deb=$(tail -n 1 "$work/out")
like "$deb" "/hookutils_${version}_[a-z0-9]*\.deb\$" '... prints its path'
run lintian --allow-root --fail-on error,warning "${deb%.deb}.changes"
is "$rc $(cat "$work/out" "$work/err")" '0 ' 'lintian has nothing against it'

# What make install installs, compressed where Debian wants that.
run make -C "$work/b/deb/hookutils-$version" install BUILD=build-package SAN= \
    DESTDIR="$work/install" PREFIX=/usr \
    ZSHDIR="$work/install/usr/share/zsh/vendor-completions"
{
	(cd "$work/install" && find . ! -type d | sed '/\/man\//s/$/.gz/
	    s|usr/share/hookutils/etc/systemd|lib/systemd/system|')
	echo ./etc/hook/env
} | sort >"$work/want"
dpkg-deb -c "$deb" | sed -n '/^d/!s/^.* \(\.\/[^ ]*\).*/\1/p' |
    sed 's/ -> .*//' | grep -Ev '^./usr/share/(doc|lintian)/' |
    sort >"$work/have"
is "$(diff "$work/have" "$work/want")" '' \
    'it has what make install installs, and the units where systemd looks'

# The same as older versions: of this schema, and of another.
dpkg-deb -R "$deb" "$work/old"
sed -i 's/^Version: .*/Version: 0.0.1/' "$work/old/DEBIAN/control"
dpkg-deb -Znone -b "$work/old" "$work/same.deb" >/dev/null
rm "$work"/old/usr/share/hookutils/sql/schema/0007-*
sed -i '/\/0007-/d' "$work/old/DEBIAN/md5sums"
dpkg-deb -Znone -b "$work/old" "$work/other.deb" >/dev/null
cp "$deb" "$work/new.deb"

# A root over this one, whose systemctl writes down what it is told.
root=/mnt/root
mount -t tmpfs tmpfs /mnt &&
    mkdir /mnt/upper /mnt/work $root &&
    mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work \
    overlay $root
check 'a fresh root'
mkdir -p $root/run/systemd/system $root/usr/local/bin
rm -f $root/usr/sbin/policy-rc.d
cat >$root/usr/local/bin/systemctl <<'EOF'
#!/bin/sh
echo "$*" >>/tmp/systemctl.log
EOF
chmod 755 $root/usr/local/bin/systemctl
cp "$work"/*.deb $root/tmp

in_root() {
	: >$root/tmp/systemctl.log
	run chroot $root env PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	    "$@"
}
told() {
	grep -v '^--system daemon-reload$' $root/tmp/systemctl.log
}
ours() {
	(cd $root && find etc/hook etc/systemd -path '*hook*' ! -type d
	    ls -d etc/hook usr/share/hookutils run/hookutils* var/lib/hook
	    ls $root/usr/bin/hook-* ) 2>/dev/null
}
owner() {
	chroot $root stat -c '%U:%G %a' "$1"
}

# Whatever PostgreSQL it is that this machine has.
in_root dpkg --force-depends -i /tmp/same.deb
exits 0 'it installs'
like "$(chroot $root getent passwd hook)" \
    '^hook:x:[0-9]*:[0-9]*:[^:]*:/nonexistent:/usr/sbin/nologin$' \
    '... which makes the user hook'
is "$(owner /etc/hook/env)" 'root:hook 640' '... who alone reads the settings'
is "$(told)" '' '... and starts nothing'
is "$(find $root/etc/systemd -name 'hook*')" '' '... and enables nothing'

followers=$(cd "$work/old/lib/systemd/system" &&
    grep -L Type=oneshot ./*.service | sed 's|./||; s/@/@*/' | xargs)
echo '# mine' >>$root/etc/hook/env
in_root dpkg --force-depends -i /tmp/new.deb
exits 0 'an upgrade'
is "$(told)" "try-restart $followers" '... restarts what runs of the followers'
is "$(tail -n 1 $root/etc/hook/env) $(owner /etc/hook/env)" \
    '# mine root:hook 640' '... and leaves the settings as they are'

in_root dpkg --force-depends -i /tmp/other.deb
rm $root/etc/hook/env
in_root dpkg --force-depends -i /tmp/new.deb
exits 0 'an upgrade to another schema'
is "$(told)" '' '... restarts nothing'
like "$(cat "$work/out")" 'hook-migrate as' '... and says what to do'
is "$(ls $root/etc/hook/env 2>/dev/null)" '' \
    '... and settings that were deleted stay so'

echo key >$root/etc/hook/key
mkdir -p $root/etc/systemd/system/multi-user.target.wants \
    $root/var/lib/hook/shop
ln -s /lib/systemd/system/hook-deliver@.service \
    $root/etc/systemd/system/multi-user.target.wants/hook-deliver@1.service
in_root dpkg --remove hookutils
exits 0 'removing it'
is "$(told)" "stop $(cd "$work/old/lib/systemd/system" &&
    ls | sed 's/@/@*/' | xargs)" '... stops all units'
in_root dpkg --purge hookutils
exits 0 'purging it'
is "$(ours)" "etc/hook/key
etc/hook" '... leaves what the operator put beside the settings, no more'
chroot $root getent passwd hook >/dev/null
check '... and the user, for the files that it may own'

done_testing
