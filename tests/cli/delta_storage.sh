#!/bin/sh
# L001: a whole version and 24 hourly deltas are the live model, to the bit: with weights of two
# bytes, rows that go because they are old or too many, and sums that decay.  What is exported
# of them says the same to a server.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
command -v python3 >/dev/null || { echo 'no python3 here'; exit 77; }

# 25 hours, the first three with more new ids than there is room for.
awk 'function u() { s = (s * 69069 + 1) % 4294967296; return s / 4294967296 }
BEGIN {
	s = 7
	for (i = 0; i < 10000; i++) {
		a = u() < 0.2 ? int(u() * u() * 200) : 1000 + i; b = int(u() * u() * 40); x = u()
		z = sin(a * 12.9) * 2 + sin(b * 78.2) * 2 + x - 0.5
		t = i < 6000 ? i * 1.8 : 10800 + (i - 6000) * 20
		printf "%d\tu%d\ti%d\t%.3f\t%d\n", (u() < 1 / (1 + exp(-z))), a, b, x,
			1699999200 + int(t)
	}
}' >train.tsv
make_spec s.ini
cat >>s.ini <<-END
keep = 99
slots = 2
[data]
time = 5
[embedding]
decay_every = 7
decay = 0.8
[dnn]
dropout = 0
END

# number FILE OFFSET: a u32 of it.
number() { od -An -tu4 -j "$2" -N 4 "$1" | tr -d ' '; }

# chain STORAGE KIND ARGUMENT...
chain() {
	storage=$1 kind=$2
	shift 2
	rm -rf live chain
	for m in live chain; do
		every=1
		[ $m = live ] || every=99
		expect 0 "$T" train s.ini -f $m --incremental -o train.full_every=$every \
			-o "embedding.storage=$storage" -o "embedding.table=$kind" "$@"
	done
	last=$(cat chain/CURRENT)
	[ "$last" = v000025 ] || fail "$last is not the 25th version"
	gone=0 decays=0 files=0
	for delta in chain/v*/table-user.0-of-1.delta; do
		gone=$((gone + $(number "$delta" 56)))
		decays=$((decays + $(number "$delta" 296)))
		files=$((files + 1))
	done
	[ $files = 24 ] || fail "$storage $kind: $files deltas"
	[ $decays -gt 9 ] || fail "$storage $kind: nothing decayed"
	[ "$kind" = hashed ] || [ $gone -gt 1000 ] || fail "$storage: only $gone rows went"

	# What is read of the chain, what is trained on it, and what it is when made whole.
	dump live >want
	dump chain >got
	same want got "$storage $kind: the chain is another model"
	"$T" export chain --to delta --from 12 -O "$storage.$kind" >out || fail 'export'
	head -n 500 train.tsv >more.tsv
	for m in live chain; do
		cp -R $m $m.on
		expect 0 "$T" train s.ini -f $m.on -i $m.on -d more.tsv -o train.full_every=1 \
			-o "embedding.storage=$storage" -o "embedding.table=$kind" "$@"
	done
	expect 0 "$T" gc chain --compact
	next=$(cat live.on/CURRENT)
	for file in "live/$last"/*.bin; do
		same "$file" "chain/$last/${file##*/}" "$storage $kind: restored, ${file##*/}"
	done
	for file in "live.on/$next"/*.bin; do
		same "$file" "chain.on/$next/${file##*/}" "$storage $kind: gone on, ${file##*/}"
	done
	rm -rf live.on chain.on
}

# served STORAGE KIND: every row of the export is the row of the dump in want.
served() {
	python3 - "$SRCDIR/tests/cli" "$1.$2" want <<-'END' || fail "$1 $2: what is served differs"
	import struct
	import sys
	sys.path.insert(0, sys.argv[1])
	import delta_reader
	server = delta_reader.Server()
	server.read(sys.argv[2])
	single = lambda text: struct.unpack("<f", struct.pack("<f", float(text)))[0]
	rows = {}
	for line in open(sys.argv[3]):
	    word = line.split(" | ")[0].split()
	    if word[0] in ("user", "item", "user.linear", "item.linear"):
	        rows[word[0], word[1]] = [single(x) for x in word[2:]]
	n = [0, 0]
	for (table, number), row in server.rows.items():
	    name = str(number)
	    if row is None:
	        assert (table, name) not in rows, (table, name)
	    else:
	        assert rows[table, name] == list(row), (table, name, row)
	    n[row is None] += 1
	print("%d rows, %d gone" % tuple(n))
	assert n[0] > 100
	END
}

tenants='-o embedding.expire_after=4h -o embedding.max_bytes=272k'
for storage in bf16 fp16; do
	# shellcheck disable=SC2086
	chain $storage exact $tenants
	served $storage exact
	[ $storage = bf16 ] || continue
	chain $storage hashed
	served $storage hashed
done
exit 0
