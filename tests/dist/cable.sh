#!/bin/sh
# Two hosts as network namespaces, joined by a cable: real addresses, CURVE, an ear on
# the cable, keys that are refused, and a cable that is cut.
#
#   PARTITIONS=50 SEED=1 sh tests/dist/cable.sh
set -u
. "$SRCDIR/tests/dist/job_data.sh"
PARTITIONS=${PARTITIONS-1} state=${SEED-1}
net=rs$$
a=${net}a b=${net}b
(ip netns add "$a" && ip netns add "$b" &&
	ip link add "${net}v" netns "$a" type veth peer name "${net}w" netns "$b") 2>ip.err || {
	ip netns del "$a" 2>/dev/null; ip netns del "$b" 2>/dev/null
	echo "skipped: no network namespaces here: $(head -1 ip.err)"
	exit 77
}
# Whoever is left ends with its host; TMP is removed by the trap that was there.
kill_host() {
	tries=0
	while [ -n "$(ip netns pids "$1")" ]; do
		tries=$((tries + 1))
		[ $tries -lt 500 ] || { echo "not to be killed in $1:" >&2; break; }
		# shellcheck disable=SC2046
		kill -9 $(ip netns pids "$1") 2>/dev/null
		sleep 0.02
	done
}
clean() {
	for host in "$a" "$b"; do
		kill_host "$host"
		ip netns del "$host"
	done
	rm -rf "$TMP"
}
trap clean EXIT
ip -n "$a" addr add 10.99.0.1/24 dev "${net}v"
ip -n "$b" addr add 10.99.0.2/24 dev "${net}w"
for end in "$a ${net}v" "$a lo" "$b ${net}w" "$b lo"; do
	# shellcheck disable=SC2086
	set -- $end
	ip -n "$1" link set "$2" up
done

below() {
	state=$(((state * 69069 + 1) % 4294967296))
	random=$((state / 65536 % $1))
}

make_rows 3000 1 >train.tsv
make_spec s.ini
for name in coord ps0 ps1 w0 w1 w2 stranger; do
	"$T" keygen $name.key >/dev/null || exit 1
done
public() { sed -n 's/^public = //p' "$1.key.pub"; }
for row in 'coord coordinator' 'ps0 ps' 'ps1 ps' 'w0 worker' 'w1 worker'; do
	echo "$row $(public "${row% *}")"
done >cluster.keys
epochs=4
run="s.ini $JOB -j 1 -o cluster.workers=2 -o cluster.ps=2 -o train.checkpoint_every=0.5"

# node HOST NAME ROLE INDEX OPTION...: one node, its end in NAME.end.
node() {
	host=$1 name=$2 role=$3 index=$4
	shift 4
	# shellcheck disable=SC2086
	{
		ip netns exec "$host" timeout -s KILL 240 "$T" node --role "$role" --index "$index" \
			--keys cluster.keys --epochs "$epochs" -f m $run "$@" >"$name.out" 2>&1
		echo $? >"$name.end"
	} &
}
coordinator=tcp://10.99.0.1:7700
start_all() {
	rm -rf m ./*.end
	node "$a" coord coordinator 0 --listen $coordinator --key coord.key
	node "$a" ps0 ps 0 --join $coordinator --listen tcp://10.99.0.1:0 --key ps0.key
	node "$b" ps1 ps 1 --join $coordinator --listen tcp://10.99.0.2:0 --key ps1.key
	node "$a" w0 worker 0 --join $coordinator --key w0.key
	node "$b" w1 worker 1 --join $coordinator --key w1.key
}
all_ended() {
	wait
	for name in coord ps0 ps1 w0 w1; do
		[ "$(cat $name.end)" = 0 ] && continue
		echo "$1: $name ended with $(cat $name.end)" >&2
		tail -n 20 ./*.out >&2
		exit 1
	done
	dump m >have
	same want have "$1: another model"
}

# --- the run of one process, on two hosts, and what the cable carries -------------
# shellcheck disable=SC2086
expect 0 "$T" train s.ini $JOB -j 1 --epochs $epochs -f whole
dump whole >want
if command -v tcpdump >/dev/null 2>&1; then
	ip netns exec "$a" tcpdump -i "${net}v" -w wire.pcap -U --immediate-mode >tcpdump.out 2>&1 &
	ear=$!
	tries=0
	until grep -q listening tcpdump.out 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 400 ] || { echo 'the ear does not listen:' >&2; cat tcpdump.out >&2; exit 1; }
		sleep 0.05
	done
fi
start_all
while [ ! -e w0.end ]; do sleep 0.1; done
# A line that is plain, to know that the ear hears.
ip netns exec "$b" bash -c 'echo "a plain marker" >/dev/udp/10.99.0.1/9'
if [ -n "${ear-}" ]; then
	sleep 0.5
	kill "$ear"
	ends "$ear" 20
fi
all_ended 'two hosts'
if [ -n "${ear-}" ]; then
	[ "$(stat -c %s wire.pcap)" -gt 100000 ] || { echo 'the ear heard nothing' >&2; exit 1; }
	grep -qa 'a plain marker' wire.pcap || { echo 'the ear did not hear the marker' >&2; exit 1; }
	# Names of tables, keys of control messages, the magic of frames.
	for text in 'user.linear' 'RST1' 'incarnation' 'tcp://10.99' 'coordinator'; do
		! grep -qa "$text" wire.pcap || { echo "'$text' is on the wire" >&2; exit 1; }
	done
fi

# --- who is refused ------------------------------------------------------------------
# refused CODE WHY OPTION...: worker 1 with these options ends so, within 15 s.
refused() {
	code=$1 why=$2
	shift 2
	rm -rf m ./*.end
	node "$a" coord coordinator 0 --listen $coordinator --key coord.key
	sleep 0.3
	began=$(date +%s)
	# shellcheck disable=SC2086
	ip netns exec "$b" timeout -s KILL 60 "$T" node --role worker --index 1 --join \
		$coordinator --epochs "$epochs" -f m2 $run "$@" >refused.out 2>&1
	got=$?
	took=$(($(date +%s) - began))
	kill_host "$a"
	wait
	[ "$got" = "$code" ] && [ "$took" -le 15 ] && grep -qiE "$why" refused.out && return
	echo "wanted $code ($why) within 15 s, got $got after $took s:" >&2
	cat refused.out coord.out >&2
	exit 1
}
sed "s|^coord .*|coord coordinator $(public stranger)|" cluster.keys >other.keys
refused 77 'refus|key' --keys other.keys --key w1.key              # wrong key of the server
refused 77 'key' --keys cluster.keys --key stranger.key            # unknown key
refused 77 'may not be worker' --keys cluster.keys --key ps0.key                # key of another role
refused 77 'key|refus'                                             # no key
refused 76 'spec|config' --keys cluster.keys --key w1.key -o train.batch_size=60

# --- the cable is cut ------------------------------------------------------------------
# Nodes on the far side are silent; they come back and the run ends as ever.
cut=0 longest=0
while [ $cut -lt "$PARTITIONS" ]; do
	epochs=40
	# shellcheck disable=SC2086
	[ -e whole40 ] || { expect 0 "$T" train s.ini $JOB -j 1 --epochs $epochs -f whole40; dump whole40 >want; }
	start_all
	sleep 2
	while [ ! -e w0.end ] && [ $cut -lt "$PARTITIONS" ]; do
		cut=$((cut + 1))
		lines=$(grep -c 'training goes on' w0.out)
		below 6000
		ip -n "$a" link set "${net}v" down
		began=$(date +%s%N)
		until [ "$(grep -c 'training goes on' w0.out)" -gt "$lines" ] || [ -e w0.end ] ||
			[ $(($(date +%s%N) - began)) -gt $(((1000 + random) * 1000000)) ]; do
			sleep 0.05
		done
		took=$((($(date +%s%N) - began) / 1000000))
		if [ "$(grep -c 'training goes on' w0.out)" -gt "$lines" ]; then
			[ $took -gt $longest ] && longest=$took
		elif [ $took -gt 5500 ] && [ ! -e w0.end ]; then
			echo "a cut of $took ms was not noticed" >&2
			tail -n 20 ./*.out >&2
			exit 1
		fi
		ip -n "$a" link set "${net}v" up
		below 2500
		sleep "$((1 + random / 1000)).$(printf %03d $((random % 1000)))"
	done
	all_ended "after $cut cuts"
done
echo "cable: refused who must be; $cut cuts, noticed after $longest ms at most, no row lost"
