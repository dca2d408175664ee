#!/bin/sh
# Nodes that are started one by one, as on several hosts: addresses, keys, refusals, a death.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
make_rows 3000 1 >train.tsv
make_rows 400 2 >valid.tsv
make_spec s.ini
JOB="$JOB --valid valid.tsv --epochs 2 --workers 2 --ps 2"
expect 0 "$T" train s.ini -f whole --valid valid.tsv --epochs 2 -o train.slots=6 \
	-o train.batch_size=120
dump whole >want

for name in c p0 p1 w0 w1 stranger; do
	"$T" keygen $name.key >/dev/null || exit 1
done
# list NAME ROLE: a line of the list of who may join.
list() {
	echo "$1 $2 $(sed -n 's/^public = //p' "$1.key.pub")"
}
{ list c coordinator; list p0 ps; list p1 ps; list w0 worker; list w1 worker; } >keys

# A port that nobody has now.
port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 10000))
address=tcp://127.0.0.1:$port

# node NAME ROLE INDEX OPTION...: in the background; its number in the variable of its name.
node() {
	name=$1 role=$2 index=$3
	shift 3
	"$T" node --role "$role" --index "$index" --join $address --key "$name.key" --keys keys \
		s.ini $JOB "$@" >"$name.out" 2>"$name.err" &
	eval "$name=$!"
	pids="${pids-} $!"
}
# ended NAME CODE
ended() {
	eval "ends \$$1"
	[ $code = "$2" ] && return 0
	echo "$1: wanted exit $2, got $code" >&2
	cat ./*.err >&2
	kill $pids 2>/dev/null
	exit 1
}
# all OPTION...: every node but worker 1.
all() {
	node c coordinator 0 --listen $address "$@"
	node p0 ps 0 --listen tcp://127.0.0.1:0 "$@"
	node p1 ps 1 --listen tcp://127.0.0.1:0 "$@"
	node w0 worker 0 -f m "$@"
}

# trains: waits until steps are done.
trains() {
	tries=0
	until "$T" node status --join $address --key w1.key --keys keys --json 2>/dev/null |
		grep -q '"step":"[1-9]'; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] || { echo 'no steps' >&2; cat ./*.err >&2; exit 1; }
		sleep 0.02
	done
}

# L050: workers may come before shards, shards before the coordinator.
node w1 worker 1
node w0 worker 0 -f m --json -P none
sleep 0.3
node p1 ps 1 --listen tcp://127.0.0.1:0
node p0 ps 0 --listen tcp://127.0.0.1:0
sleep 0.3
node c coordinator 0 --listen $address
for name in w0 w1 p0 p1 c; do ended $name 0; done
dump m >have
same want have 'nodes one by one gave another model'
grep -q '"message_type":"summary"' w0.out || { cat w0.err >&2; exit 1; }
expect 0 "$T" runs show last --json --db runs.db
prints '"mode":"hybrid"'
prints '"reducer":"pushpull"'
[ -z "$(ls -A run)" ] || { echo "left:" >&2; find run >&2; exit 1; }

# A worker that dies may come again, whoever starts it; what status says of it.
rm -rf m
all --epochs 40 -o train.early_stop=0 -o train.checkpoint_every=0.1
node w1 worker 1 --epochs 40 -o train.early_stop=0 -o train.checkpoint_every=0.1
trains
expect 77 "$T" node status --join $address --key stranger.key --keys keys
expect 0 "$T" node status --join $address --key w1.key --keys keys
prints 'worker 1'
kill -9 "$w1"
wait "$w1" 2>/dev/null
node w1 worker 1 --epochs 40 -o train.early_stop=0 -o train.checkpoint_every=0.1
for name in w0 w1 p0 p1 c; do ended $name 0; done
expect 0 "$T" train s.ini -f long --valid valid.tsv --epochs 40 -o train.slots=6 \
	-o train.batch_size=120 -o train.early_stop=0
dump m >have; dump long >want
same want have 'a worker that died gave another model'

# A coordinator that is killed and started again finds its database: the round goes on.
rm -rf m
all --epochs 200 -o train.early_stop=0
node w1 worker 1 --epochs 200 -o train.early_stop=0
trains
kill -9 "$c"
wait "$c" 2>/dev/null
node c coordinator 0 --listen $address --epochs 200 -o train.early_stop=0
# The table of the new one, as soon as it has heard of a worker.
tries=0
until grep -q '^worker 0 .*running' table 2>/dev/null; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || { echo 'no table of nodes' >&2; cat c.err >&2; exit 1; }
	sleep 0.05
	cp run/recsys-train/*/nodes.txt table 2>/dev/null
done
for name in w0 w1 p0 p1 c; do ended $name 0; done
grep -q "round 1" table || { echo 'another round' >&2; cat table >&2; exit 1; }
! grep -q 'goes on from' w0.err || { echo 'the round was ended' >&2; cat w0.err >&2; exit 1; }
expect 0 "$T" train s.ini -f longer --valid valid.tsv --epochs 200 -o train.slots=6 \
	-o train.batch_size=120 -o train.early_stop=0
dump m >have; dump longer >want200
same want200 have 'a coordinator that was killed gave another model'

# A key that is taken off the list is out after SIGHUP, and one that is put on it is in; a
# list with a mistake changes nothing.
rm -rf m
mv keys whole_list
grep -v '^w1 ' whole_list >keys
all --epochs 40 -o train.early_stop=0 -o train.checkpoint_every=0.1 -v
node w1 worker 1 --epochs 40 -o train.early_stop=0 -o train.checkpoint_every=0.1
logged() {
	tries=0
	until grep -q "$2" "$1.err"; do
		tries=$((tries + 1))
		[ $tries -lt 200 ] || { echo "$1 did not say '$2'" >&2; cat $1.err >&2; exit 1; }
		sleep 0.05
	done
}
ended w1 77
tries=0
until [ "$(cat run/recsys-train/*/nodes.txt 2>/dev/null | grep -c waiting)" = 3 ]; do
	tries=$((tries + 1))
	[ $tries -lt 200 ] || { echo 'not all are there' >&2; cat ./*.err >&2; exit 1; }
	sleep 0.05
done
cp whole_list keys
kill -HUP "$c" "$p0" "$p1"
for name in c p0 p1; do logged $name "keys' has 5 keys"; done
echo nonsense >keys
kill -HUP "$c"
logged c 'stays as it was: .*keys:1'
cp whole_list keys
node w1 worker 1 --epochs 40 -o train.early_stop=0 -o train.checkpoint_every=0.1
trains
grep -v '^w1 ' whole_list >keys
kill -HUP "$c"
logged c "keys' has 4 keys"
ended w1 77
cp whole_list keys
kill -HUP "$c"
node w1 worker 1 --epochs 40 -o train.early_stop=0 -o train.checkpoint_every=0.1
for name in w0 w1 p0 p1 c; do ended $name 0; done
dump m >have
same want have 'a change of the keys gave another model'

# Refused: another key, the key of another role, another spec; the others wait in vain.
rm -rf m
all -o cluster.rendezvous=4 --fresh
node stranger worker 1
ended stranger 77
cp w1.key stolen.key
node w1 worker 1 -o dnn.dropout=0.3
ended w1 76
"$T" node --role worker --index 1 --join $address --key p0.key --keys keys s.ini $JOB 2>other.err
[ $? = 77 ] || { echo 'the key of another role was let in' >&2; cat other.err >&2; exit 1; }
for name in w0 p0 p1; do ended $name 69; done
grep -q 'worker 1' w0.err || { echo 'who is missing?' >&2; cat w0.err >&2; exit 1; }
ends "$c"

# Not without keys, but on the loopback.
expect 77 "$T" node --role ps --join $address --listen tcp://0.0.0.0:0 s.ini $JOB
expect 64 "$T" node --role worker s.ini $JOB
says '--join'
expect 64 "$T" node --join $address s.ini $JOB
says '--role'
