# shellcheck shell=sh disable=SC2034
#
# Sourced by quickstart and run-tests: packages_need PACKAGE...
#
# Installs what is missing with apt-get (as root or through sudo) and says what.
# On a system without apt it names the packages and goes on: configure says
# what it lacks.
packages_missing() {
	for package in "$@"; do
		state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) || state=
		[ "$state" = installed ] || printf '%s ' "$package"
	done
}

packages_need() {
	if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-query >/dev/null 2>&1; then
		for tool in cc make autoreconf automake pkg-config; do
			if ! command -v "$tool" >/dev/null 2>&1; then
				echo "'$tool' is missing; this needs what Debian calls: $*"
				return 1
			fi
		done
		return 0
	fi
	packages_list=$(packages_missing "$@")
	[ -n "$packages_list" ] || return 0
	packages_root=
	if [ "$(id -u)" -ne 0 ]; then
		if ! command -v sudo >/dev/null 2>&1; then
			echo "these packages are missing, and installing them needs root: $packages_list"
			return 1
		fi
		packages_root=sudo
	fi
	echo "installing: $packages_list"
	# Word splitting is wanted: a list of package names.
	# shellcheck disable=SC2086
	$packages_root env DEBIAN_FRONTEND=noninteractive sh -c \
		'apt-get -qq update && apt-get -qq -y install --no-install-recommends "$@"' \
		apt $packages_list </dev/null >/tmp/recsys-train-apt.$$ 2>&1 || {
		tail -20 /tmp/recsys-train-apt.$$
		rm -f /tmp/recsys-train-apt.$$
		echo "apt-get could not install: $packages_list"
		return 1
	}
	rm -f /tmp/recsys-train-apt.$$
}

packages_build='make autoconf automake pkg-config libopenblas-dev libsqlite3-dev zlib1g-dev
	libprotobuf-c-dev protobuf-c-compiler libzmq3-dev libdnnl-dev'
# Both libraries of MPI, for plug-ins and tests: 28 MB.
packages_mpi='openmpi-bin libopenmpi-dev mpich libmpich-dev'
