#!/bin/sh
# What launchers put into the environment, played by this script: pods of Kubernetes,
# TF_CONFIG, RANK, RECSYS_TRAIN_ROLE; each ends with the dump of one process.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
undisturbed 60
# shellcheck disable=SC2086
set -- $RUN
expect 0 "$T" keygen job.key

pids=
trap 'kill -9 $pids 2>/dev/null; rm -rf "$TMP"' EXIT
trap 'exit 143' HUP INT TERM
port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 10000))

# started NAME: the process just put into the background.
started() {
	eval "$1=$!"
	pids="$pids $!"
}
# ended NAME...: each with 0.
ended() {
	for name in "$@"; do
		eval "ends \$$name"
		[ $code = 0 ] && continue
		echo "$name: exit $code" >&2
		cat ./*.err >&2
		exit 1
	done
}

# TF_CONFIG: a chief, a worker, two ps.
cluster="\"cluster\": {\"chief\": [\"127.0.0.1:$port\"], \"worker\": [\"127.0.0.1:$((port + 1))\"],
	\"ps\": [\"127.0.0.1:$((port + 2))\", \"localhost:$((port + 3))\"]}"
for task in chief:0 worker:0 ps:0 ps:1; do
	name=tf_${task%:*}${task#*:}
	TF_CONFIG="{$cluster, \"task\": {\"type\": \"${task%:*}\", \"index\": ${task#*:}}}" \
		timeout -k 9 60 "$T" train s.ini -f tf "$@" >$name.out 2>$name.err &
	started "$name"
done
ended tf_chief0 tf_worker0 tf_ps0 tf_ps1
dump tf >have
same want have 'TF_CONFIG: another model'
nothing_left 'by TF_CONFIG'

# RANK: three processes of two hosts, the first of which has two.
port=$((port + 5))
for process in 0:0:2 1:1:2; do
	rank=${process%%:*} local=${process#*:}
	RANK=$rank WORLD_SIZE=2 LOCAL_RANK=${local%:*} LOCAL_WORLD_SIZE=${local#*:} \
		MASTER_ADDR=localhost MASTER_PORT=$port \
		timeout -k 9 60 "$T" train s.ini -f rank "$@" >"rank$rank.out" 2>"rank$rank.err" &
	started "rank$rank"
done
ended rank0 rank1
dump rank >have
same want have 'RANK: another model'
nothing_left 'by RANK'

# Our own words: every process has a role.
port=$((port + 1))
for role in coordinator:0 ps:0 worker:0 worker:1; do
	name=own_${role%:*}${role#*:}
	RECSYS_TRAIN_ROLE=${role%:*} RECSYS_TRAIN_INDEX=${role#*:} RECSYS_TRAIN_WORKERS=2 \
		RECSYS_TRAIN_PS=1 RECSYS_TRAIN_COORDINATOR=tcp://127.0.0.1:$port \
		timeout -k 9 60 "$T" train s.ini -f own "$@" >$name.out 2>$name.err &
	started "$name"
done
ended own_coordinator0 own_ps0 own_worker0 own_worker1
dump own >have
same want have 'RECSYS_TRAIN_ROLE: another model'

# Another number than the launcher's is refused at once.
RANK=0 WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=$port LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 \
	"$T" train s.ini -f none "$@" --workers 3 2>err
[ $? = 64 ] && grep -q 'cluster.workers' err || { cat err >&2; exit 1; }

# Pods: their name, job-0.net, is one of this host for as long as this test runs.
if ! unshare -m true 2>/dev/null; then
	echo 'no mount namespaces here, so no names of pods'
	exit 0
fi
printf '127.0.0.1 localhost\n127.0.0.1 job-0.net\n127.0.0.1 job-1.net\n' >hosts
# pod INDEX OPTION...
pod() {
	index=$1
	shift
	JOB_COMPLETION_INDEX=$index KUBERNETES_SERVICE_HOST=10.0.0.1 HOSTNAME=job-$index \
		RECSYS_TRAIN_SERVICE=net RECSYS_TRAIN_PODS=2 RECSYS_TRAIN_PORT=$port \
		unshare -m sh -c 'mount --bind hosts /etc/hosts && exec timeout -k 9 60 "$@"' sh \
		"$T" train s.ini -f pods --resume --workers 2 --ps 2 -o cluster.secret=job.key \
		-o cluster.listen=tcp://127.0.0.1:0 "$@" >"pod$index.out" 2>"pod$index.err" &
	started "pod$index"
}
port=$((port + 1))
pod 1 "$@"
pod 0 "$@"
ended pod0 pod1
dump pods >have
same want have 'pods: another model'
nothing_left 'by pods'
rm -rf pods

# A pod that dies comes again: the second one, then the one with the coordinator.
for victim in 1 0; do
	port=$((port + 1))
	set -- "$@" --epochs 60 -o train.checkpoint_every=0.05 -o cluster.step_timeout=3 \
		-o cluster.request_timeout=3
	pod 0 "$@"
	pod 1 "$@"
	begun pods
	sleep 0.3
	inner=$(eval "pgrep -P \$pod$victim")
	kill -9 "$inner"
	eval "wait \$pod$victim" 2>/dev/null
	pod $victim "$@"
	ended pod0 pod1
	dump pods >have
	same want60 have "pod $victim died: another model"
	nothing_left "after pod $victim died"
	rm -rf pods
done
