#!/usr/bin/env bash
# What the tests need beyond Python and Java, from Debian's packages, where this machine lets us.
# Tests that need what cannot be installed say so when they skip; with CI=true they fail instead.
set -u
missing=()
compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null || missing+=(postgresql)
[ -e /usr/share/java/postgresql.jar ] || missing+=(libpostgresql-jdbc-java)
command -v chromium >/dev/null || missing+=(chromium)
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "Not installed, and not installable by this user: ${missing[*]}. Their tests are skipped."
    exit 0
fi
echo "Installing ${missing[*]} for the tests ..."
export DEBIAN_FRONTEND=noninteractive
wait=(-o DPkg::Lock::Timeout=300) # somebody else may be installing something
told=$({ apt-get update -qq "${wait[@]}" && apt-get install -y -qq --no-install-recommends "${wait[@]}" "${missing[@]}"; } 2>&1) || {
    echo "apt-get could not install ${missing[*]}. Their tests are skipped. It said:"
    tail -n 3 <<<"$told"
}
exit 0
