#!/bin/sh
# Makes the packages: callagent_VERSION_ARCH.deb and callagent-VERSION-oci.tar.
#
# usage: sh examples/package.sh [FOLDER]
#
# FOLDER is .build/packages by default. CALLAGENT names the executable to pack; without it the
# release build is made and taken. CALLAGENT_SITE names the site of the documentation; without it
# examples/site.sh makes one. The same executable and SOURCE_DATE_EPOCH (by default the moment of
# the last commit) give the same bytes. What it needs beside the product's own:
# sh examples/install.sh --packages.
set -eu

cd "$(dirname "$0")/.."
here=$PWD
out=${1:-.build/packages}
parts=examples/package

fail() {
    printf 'package: %s\n' "$*" >&2
    exit 1
}

for tool in cmark-gfm dpkg-deb dpkg-shlibdeps strip gzip libdeflate-gzip python3; do
    command -v "$tool" >/dev/null 2>&1 || fail "no $tool here: sh examples/install.sh --packages"
done
if [ -z "${CALLAGENT-}" ]; then
    swift build -c release --product callagent
    CALLAGENT=$(swift build -c release --show-bin-path)/callagent
fi
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || date +%s)}"
export SOURCE_DATE_EPOCH
export LC_ALL=C TZ=UTC

version=$("$CALLAGENT" version | sed -n 's/.*callagent[ /]\([0-9][0-9.]*\).*/\1/p' | head -n 1)
[ -n "$version" ] || fail "'$CALLAGENT version' tells no version"
architecture=$(dpkg --print-architecture)
maintainer=${CALLAGENT_MAINTAINER:-callagent <callagent@packages.invalid>}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/callagent-package.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
umask 022
mkdir -p "$out"
out=$(cd "$out" && pwd)

# FILE MODE TARGET: below the root that is being made.
put() {
    mkdir -p "$(dirname "$3")"
    install -m "$2" "$1" "$3"
}

# Everything that both packages have.
make_common() {
    root=$1
    put "$CALLAGENT" 0755 "$root/usr/bin/callagent"
    strip --strip-unneeded "$root/usr/bin/callagent"
    for plugin in plugins/*.lua; do
        put "$plugin" 0644 "$root/usr/share/callagent/plugins/${plugin##*/}"
    done
    put "$parts/callagent.lua" 0644 "$root/etc/callagent/callagent.lua"
    # Not below share/doc: that may be left out of a machine, and the console serves this.
    cp -R "$site" "$root/usr/share/callagent/site"
}

make_manuals() {
    root=$1
    mkdir -p "$root/usr/share/man/man1"
    {
        echo callagent
        "$CALLAGENT" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'
    } | while read -r name; do
        if [ "$name" = callagent ]; then
            page=callagent
            "$CALLAGENT" manual
        else
            page=callagent-$name
            "$CALLAGENT" manual "$name"
        fi | gzip -9n >"$root/usr/share/man/man1/page.gz"
        [ "$name" = callagent ] && page=callagent || page=callagent-$name
        mv "$root/usr/share/man/man1/page.gz" "$root/usr/share/man/man1/$page.1.gz"
    done
    "$CALLAGENT" completion bash >"$scratch/bash"
    "$CALLAGENT" completion zsh >"$scratch/zsh"
    "$CALLAGENT" completion fish >"$scratch/fish"
    put "$scratch/bash" 0644 "$root/usr/share/bash-completion/completions/callagent"
    put "$scratch/zsh" 0644 "$root/usr/share/zsh/vendor-completions/_callagent"
    put "$scratch/fish" 0644 "$root/usr/share/fish/vendor_completions.d/callagent.fish"
}

make_debian() {
    root=$scratch/deb
    doc=$root/usr/share/doc/callagent
    make_common "$root"
    make_manuals "$root"
    put "$parts/callagent.service" 0644 "$root/lib/systemd/system/callagent.service"
    python3 "$parts/pages.py" Sources "$doc/html"
    for file in examples/monitoring/*; do
        put "$file" 0644 "$doc/examples/monitoring/${file##*/}"
    done
    put "$parts/copyright" 0644 "$doc/copyright"
    printf 'callagent (%s) unstable; urgency=medium\n\n  * This version.\n\n -- %s  %s\n' \
        "$version" "$maintainer" "$(date -R -d "@$SOURCE_DATE_EPOCH")" |
        gzip -9n >"$doc/changelog.gz"
    mkdir -p "$root/DEBIAN"
    for script in postinst prerm postrm; do put "$parts/$script" 0755 "$root/DEBIAN/$script"; done
    echo /etc/callagent/callagent.lua >"$root/DEBIAN/conffiles"
    write_control "$root"
    (cd "$root" && find . -type f ! -path './DEBIAN/*' ! -path ./etc/callagent/callagent.lua \
        -printf '%P\0' | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
    find "$root" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group -Zxz --build "$root" \
        "$out/callagent_${version}_$architecture.deb" >/dev/null
}

write_control() {
    mkdir -p "$scratch/shlibs/debian"
    printf 'Source: callagent\n\nPackage: callagent\nArchitecture: any\n' \
        >"$scratch/shlibs/debian/control"
    needs=$(cd "$scratch/shlibs" && dpkg-shlibdeps -O "$1/usr/bin/callagent" 2>/dev/null |
        sed -n 's/^shlibs:Depends=//p')
    [ -n "$needs" ] || fail "dpkg-shlibdeps tells no libraries"
    {
        printf 'Package: callagent\nVersion: %s\nArchitecture: %s\n' "$version" "$architecture"
        printf 'Maintainer: %s\n' "$maintainer"
        printf 'Installed-Size: %s\n' "$(du -k -s --apparent-size "$1" | cut -f 1)"
        printf 'Depends: %s, init-system-helpers (>= 1.52)\n' "$needs"
        printf 'Recommends: ca-certificates, tzdata\nSection: comm\nPriority: optional\n'
        printf 'Description: server for call invitations, with policies in Lua\n'
        printf ' callagent carries invitations to calls between people: phones ring, somebody\n'
        printf ' accepts, and whatever was acknowledged survives. Plugins in Lua answer for\n'
        printf ' accounts and shape what is sent.\n'
    } >"$1/DEBIAN/control"
}

# The executable with the libraries that it loads, authorities, and time zones.
make_image() {
    root=$scratch/image
    make_common "$root"
    ldd "$root/usr/bin/callagent" | awk '/=> \// { print $3 } $1 ~ /^\// { print $1 }' |
        while read -r library; do put "$(realpath "$library")" 0755 "$root$library"; done
    # The files of /lib are those of /usr/lib here as on Debian.
    for folder in lib lib64; do
        [ -d "$root/$folder" ] || continue
        mkdir -p "$root/usr/$folder"
        cp -a "$root/$folder/." "$root/usr/$folder/"
        rm -rf "${root:?}/$folder"
        ln -s "usr/$folder" "$root/$folder"
    done
    put /etc/ssl/certs/ca-certificates.crt 0644 "$root/etc/ssl/certs/ca-certificates.crt"
    mkdir -p "$root/usr/share/zoneinfo" "$root/tmp" "$root/var/lib/callagent"
    # Without the sources of the zones, which nothing reads.
    (cd /usr/share/zoneinfo &&
        tar -c --exclude=./right --exclude=./posix --exclude=./tzdata.zi \
            --exclude=./zone1970.tab --exclude='./leap*' .) |
        tar -x -C "$root/usr/share/zoneinfo"
    printf 'root:x:0:0::/:/none\ncallagent:x:65532:65532::/var/lib/callagent:/none\n' \
        >"$root/etc/passwd"
    printf 'root:x:0:\ncallagent:x:65532:\n' >"$root/etc/group"
    printf 'hosts: files dns\n' >"$root/etc/nsswitch.conf"
    chmod 1777 "$root/tmp"
    chmod 0700 "$root/var/lib/callagent"
    python3 "$parts/image.py" "$root" "$out/callagent-$version-oci.tar" "$version" "$architecture"
}

cd "$here"
site=${CALLAGENT_SITE:-$scratch/site}
[ -n "${CALLAGENT_SITE-}" ] || sh examples/site.sh "$site"
make_debian
make_image
for file in "callagent_${version}_$architecture.deb" "callagent-$version-oci.tar"; do
    printf '%s  %s bytes\n' "$out/$file" "$(stat -c %s "$out/$file")"
done
