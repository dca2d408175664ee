#!/bin/sh
# Ids that come and rows that go: the same on any number of threads, stopped or not; what is
# counted is told; who reads never inserts.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN

# Ids that are hot, and ids that are for a while; a row every 6 s of data time.
awk 'function u() { s = (s * 69069 + 1) % 4294967296; return s / 4294967296 }
BEGIN {
	s = 7
	for (i = 0; i < 12000; i++) {
		a = u() < 0.5 ? int(u() * u() * 200) : 1000 + int(i / 5 + u() * 40)
		b = int(u() * u() * 40); x = u()
		z = sin(a * 12.9) * 2 + sin(b * 78.2) * 2 + x - 0.5
		printf "%d\tu%d\ti%d\t%.3f\t%d\n", (u() < 1 / (1 + exp(-z))), a, b, x,
			1700000000 + i * 6
	}
}' >train.tsv
halves 6000
make_spec s.ini
cat >>s.ini <<-END
[data]
time = 5
shuffle = no
[embedding]
table = exact
[train]
slots = 4
END

run() { expect 0 "$T" train s.ini "$@"; }
# same_tables A B TEXT
same_tables() {
	for file in "$1"/t*.bin; do
		same "$file" "$2/${file##*/}" "$3: ${file##*/}"
	done
}

number=0 more='2 3'
while read -r keys; do
	number=$((number + 1))
	set --
	for key in $keys; do set -- "$@" -o "embedding.$key"; done
	run "$@" -f one$number -j 1 --json
	grep '"summary"' out >summary.$number
	for threads in $more; do
		run "$@" -f more -j "$threads"
		same_tables one$number/v000001 more/v000001 "$keys, $threads threads"
		rm -rf more
	done
	more=3
	run "$@" -f half -d a.tsv
	run "$@" -f half -i half -d b.tsv
	same_tables one$number/v000001 half/v000002 "$keys, stopped and gone on"
	rm -rf half
done <<-END
	admit=sketch admit_count=2 admit_cells=64k expire_after=12h max_bytes=320k evict=lru
	admit=count admit_count=3 admit_cells=1k expire_steps=40 max_bytes=320k evict=lfu
	admit=probability admit_probability=0.3 expire_after=5h
	expire_after=12h max_bytes=320k
	admit=count admit_count=2
END

# Killed at any moment and resumed, with a version every few steps and shuffled.
set -- -o embedding.admit=count -o embedding.admit_count=2 -o embedding.expire_after=12h \
	-o embedding.max_bytes=320k -o data.shuffle=yes -o data.row_group=20k \
	-o data.shuffle_window=60k -o train.checkpoint_every=0.03 --epochs 3
run "$@" -f whole
kills=0 resume=
while :; do
	# shellcheck disable=SC2086
	"$T" train s.ini "$@" -f killed $resume 2>err & pid=$!
	resume=--resume
	sleep 0.2
	[ $kills = 3 ] || kill -9 $pid 2>/dev/null
	ends $pid
	[ $code = 0 ] && break
	[ $code = 137 ] || { echo "exit $code"; cat err; exit 1; }
	kills=$((kills + 1))
done
newest() {
	find "$1" -maxdepth 1 -name 'v0*' | sort | tail -n 1
}
same_tables "$(newest whole)" "$(newest killed)" "killed $kills times"

# What came and went, in the summary and in the record of runs.
# tenants SUMMARY CONDITION: an awk condition of rows, admitted, waiting, ...
tenants() {
	sed 's/.*"exact":{//; s/[}"]//g; y/:,/ \n/' "$1" |
	awk '{ n[$1] = $2 } END { exit !(('"$2"') && NR == 6) }' || { cat "$1"; exit 1; }
}
tenants summary.1 'n["rows"] > 1000 && n["waiting"] > 0 && n["refused"] > 0 && n["evicted"] > 0 &&
	n["expired"] > 0 && n["admitted"] == n["rows"] + n["evicted"] + n["expired"]'
tenants summary.5 'n["waiting"] > 0 && n["evicted"] == 0 && n["expired"] == 0'
# The weights of an epoch before the last come back: of what came and went nothing is lost.
awk -F '\t' -v OFS='\t' '{ $1 = 1 - $1 } 1' a.tsv >opposite.tsv
run -f best -d a.tsv --valid opposite.tsv --epochs 2 -o embedding.expire_after=5h --json
grep '"summary"' out >summary.best
grep -q '"best_epoch":1,' summary.best || { cat summary.best; exit 1; }
tenants summary.best 'n["rows"] > 0 && n["expired"] > 0 && n["admitted"] > n["rows"]'
expect 0 "$T" runs show 1 --json
for figure in rows admitted waiting refused evicted expired; do prints "exact.$figure"; done

# L021: a row that went is in no version that is served: its id is as unseen as any other.
head -n 400 train.tsv | grep 'u1[0-9][0-9][0-9]' >old.tsv
tail -n 400 train.tsv | grep 'u3[0-9][0-9][0-9]' >new.tsv
[ -s old.tsv ] && [ -s new.tsv ] || exit 1
unseen() {
	expect 0 "$T" eval one1 "$1" --json
	sed 's/.*"unseen":\([0-9.e-]*\).*/\1/' out
}
old=$(unseen old.tsv) new=$(unseen new.tsv)
awk -v old="$old" -v new="$new" 'BEGIN { exit !(old >= 0.5 && new < 0.25) }' ||
	{ echo "unseen $old and $new"; exit 1; }

# Times that nobody can read are told.
sed 's/1700[0-9]*$/soon/' a.tsv >timeless.tsv
run -f timeless -d timeless.tsv -o embedding.expire_after=1h
says 'no row had a time that can be read: none expires; check data.time'
run -f timed -d a.tsv -o embedding.expire_after=1h
grep -q 'no row had a time' err && exit 1

# A few rows of a time to come: rows go when they would have gone, and these are told.
run -f punctual -d train.tsv -o embedding.expire_after=5h --json
grep '"summary"' out >summary.punctual
awk -F '\t' -v OFS='\t' 'NR % 997 == 500 { $5 = 4102444800 } 1' train.tsv >ahead.tsv
run -f ahead -d ahead.tsv -o embedding.expire_after=5h --json
says '12 rows are later than the middle row of their batch'
grep '"summary"' out >summary.ahead
sed 's/.*\("exact":{[^}]*}\).*/\1/' summary.punctual >want
sed 's/.*\("exact":{[^}]*}\).*/\1/' summary.ahead >have
tenants summary.punctual 'n["expired"] > 1000'
same want have 'a few wrong times change what expires'

# Who reads never inserts.
cp -r one1/v000001 before
expect 0 "$T" predict one1 old.tsv
same_tables before one1/v000001 "eval and predict"

# What is refused, and what has no effect.
refused() {
	text=$1
	shift
	expect 78 "$T" check s.ini "$@"
	grep -qF -- "$text" out err || { echo "no '$text'"; cat out err; exit 1; }
}
refused 'beside expire_after' -o embedding.expire_after=1h -o embedding.expire_steps=5
refused 'data.time is not given' -o embedding.expire_after=1h -o data.time=
refused 'admit_count' -o embedding.admit=count -o embedding.admit_count=65536
refused 'admit_probability' -o embedding.admit=probability -o embedding.admit_probability=0
expect 78 "$T" train s.ini -f none -o embedding.max_bytes=10k
says 'embedding.max_bytes: 10240 bytes are room for'
least=$(sed -n 's/.*the least is \([0-9]*\)k$/\1/p' err)
expect 78 "$T" train s.ini -f none -o embedding.max_bytes=$((least - 1))k
expect 0 "$T" train s.ini -f least -d old.tsv -o embedding.max_bytes="$least"k
expect 78 "$T" train s.ini -f none -i one1 -o embedding.table=hashed
says "field 'user': table is exact in the model saved, hashed in the spec"
no_effect() {
	expect 0 "$T" check s.ini "$@"
	cat out err | grep -qF 'has no effect without' || { cat out err; exit 1; }
}
no_effect -o embedding.table=hashed -o embedding.admit=count
no_effect -o embedding.admit_count=5
no_effect -o embedding.evict=lfu
expect 0 "$T" check s.ini -o embedding.expire_after=10m -o incremental.period=1h
cat out err | grep -qF 'rows of one period are gone in the next' || { cat out err; exit 1; }
exit 0
