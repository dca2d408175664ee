#!/bin/sh
# check: every problem at once with its place, origins, the report of the data.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 300 1 >train.tsv
make_spec s.ini
expect 0 "$T" check s.ini
prints 's.ini: OK'
expect 0 "$T" configtest s.ini

# What train --incremental would refuse.
while read -r code key; do
	{ cat s.ini; printf '[incremental]\nfile_time = log-%%Y%%m%%d\n%s\n' "$key"; } >hourly.ini
	expect "$code" "$T" check hourly.ini
done <<'END'
0 period = 1d
78 period = 1.5
78 ready = log-%Q
78 gate = holdout
78 require = gauc>=last
64 require = auc is good
END
expect 78 "$T" check hourly.ini -o incremental.require= -o incremental.gate=valid --json
prints '"ok":false'

# Every error, in the order of the file, none on stdout.
cat >bad.ini <<'END'
[model]
type = deepfn
[data]
train = train.tsv
label = 1
[field a]
column = 2
dim = 16x
[trian]
x = 1
[train]
lerning_rate = 0.1
  epochs = two
END
expect 78 "$T" check bad.ini
[ ! -s out ] || exit 1
cat >want <<'END'
recsys-train: bad.ini:8:7: error: [field a] dim = '16x': not a whole number
recsys-train: bad.ini:9:1: error: [trian]: unknown section
recsys-train: hint: did you mean 'train'?
recsys-train: bad.ini:12:1: error: [train] lerning_rate: unknown key
recsys-train: hint: did you mean 'learning_rate'?
recsys-train: bad.ini:13:12: error: [train] epochs = 'two': not a whole number
recsys-train: bad.ini:2:8: error: [model] type = 'deepfn': there is no such model
recsys-train: hint: did you mean 'deepfm'?
recsys-train: bad.ini: error: 5 errors, 0 warnings
END
same want err 'the errors are others'
expect 78 "$T" check bad.ini --json
grep -q '"ok":false,"errors":5,"warnings":0,"problems":\[{"severity":"error","file":"bad.ini","line":8,"column":7,' out || { cat out err; exit 1; }

# Warnings are errors only when --strict says so.
sed 's/^column = 4/&\nfold_case = yes/' s.ini >warn.ini
expect 0 "$T" check warn.ini
says 'warn.ini:'
expect 1 "$T" check warn.ini --strict
expect 0 "$T" check s.ini --strict

# Layers and -o: the later wins, and the listing says who gave a value.
printf '[train]\nepochs = 5\nseed = 8\n' >layer.ini
expect 0 "$T" check s.ini --layer layer.ini -o train.seed=9 -o 'field user.buckets=10k' --show-origin
grep -q '^layer\.ini:2  *train\.epochs  *= 5$' out || { cat out; exit 1; }
grep -q '^command line  *train\.seed  *= 9$' out || exit 1
grep -q '^command line .*user.*buckets.*= 10' out || { cat out; exit 1; }
grep -q '^default ' out || exit 1
expect 78 "$T" check s.ini -o 'field usr.buckets=10k'
says "hint: did you mean 'user'?"
expect 66 "$T" check s.ini --layer none.ini

# A range makes fields; two that share a table may both name its size.
cat >range.ini <<'END'
[model]
type = fm
[data]
train = train.tsv
label = 1
[field C1..C2]
column = 2..3
buckets = 100
[field C3]
column = 2
share = C1
buckets = 100
END
expect 0 "$T" check range.ini --data
grep -Eq '^C3 +300 ' out || { cat out; exit 1; }
expect 0 "$T" check range.ini -o 'field C1..C3.buckets=10k'

# The data: a table, or one line of JSON; bad rows have the exit code of train.
expect 0 "$T" check s.ini --data=all
grep -Eq '^user +300 +0\.0% +[0-9]+ ' out || { cat out; exit 1; }
grep -Eq '^label +300 .* 0: [0-9.]+%  1: [0-9.]+%$' out || exit 1
expect 0 "$T" check s.ini --data=50 --json
prints '"message_type":"data","rows":50,'
expect 64 "$T" check s.ini --data=-1
echo 'x	u1	i1	0.5' >>train.tsv
expect 65 "$T" check s.ini --data
says 'train.tsv:301:1: '
rm train.tsv
expect 0 "$T" check s.ini
expect 66 "$T" check s.ini --data

# Includes: found from the file that includes, no cycle, not too deep, not too large.
mkdir d
echo 'include = d/part.ini' >top.ini
cat s.ini >>top.ini
echo 'include = more.ini' >d/part.ini
printf '[train]\nkeep = 7\n' >d/more.ini
expect 0 "$T" check top.ini --show-origin
grep -q 'd/more\.ini:2  *train\.keep  *= 7$' out || { cat out; exit 1; }
echo 'include = two.ini' >one.ini
echo 'include = one.ini' >two.ini
expect 78 "$T" check one.ini
says "two.ini:1:1: error: include = 'one.ini' includes itself"
i=0
while [ $i -lt 20 ]; do
	echo "include = i$((i + 1)).ini" >i$i.ini
	i=$((i + 1))
done
expect 78 "$T" check i0.ini
says 'files include one another'
head -c 17000000 /dev/zero | tr '\0' '#' >big.ini
expect 78 "$T" check big.ini
says "big.ini:1:1: error: 'big.ini' has more than 16777216 bytes"
expect 78 "$T" train big.ini -f new
echo 'include = big.ini' >bigger.ini
expect 78 "$T" check bigger.ini
says "bigger.ini:1:1: error: include = 'big.ini' has more than 16777216 bytes"

# Bytes changed and cut at random: an answer, never a crash.
seed=1
while [ $seed -le 60 ]; do
	awk -v seed=$seed 'BEGIN { srand(seed); junk = "=[]\"\\#;.,+- 09azZ\t\001" }
	{
		line = $0
		while (rand() < 0.15) {
			at = int(rand() * (length(line) + 1))
			line = substr(line, 1, at) substr(junk, int(rand() * length(junk)) + 1, 1) \
				substr(line, at + 1 + (rand() < 0.7))
		}
		if (rand() < 0.03)
			line = substr(line, 1, rand() * length(line))
		if (rand() < 0.03)
			sub(/[0-9]+$/, "99999999999999999999", line)
		print line
		if (rand() < 0.01)
			exit
	}' s.ini >mutant.ini
	status=0
	"$T" check mutant.ini >out 2>err || status=$?
	case $status in
	0 | 78) ;;
	*) echo "seed $seed: exit $status"; cat mutant.ini err; exit 1 ;;
	esac
	seed=$((seed + 1))
done

# A row whose target is in its own history is counted, once for the field.
printf '1\tx\ta|x\n0\tx\t\n1\ty\tx|z\n0\tz\tz\n' >history.tsv
cat >history.ini <<'INI'
[model]
type = deepfm
[data]
train = history.tsv
label = 1
[field item]
column = 2
[field past]
column = 3
type = sequence
share = item
INI
expect 0 "$T" check history.ini --data
[ "$(grep -c 'in 2 of 4 rows' err)" -eq 1 ] || { cat err; exit 1; }
grep -q "field 'past': in 2 of 4 rows the 'item' of the row is in its own history" err || exit 1
# Of an item and its category it is the place that counts, once for both.
printf '1\tx\tA\tx|y\tB|A\n0\tx\tA\tz|x\tA|A\n' >aligned.tsv
sed 's/history.tsv/aligned.tsv/; s/^column = 3/column = 4\nhistory = h/' history.ini >aligned.ini
printf '[field cat]\ncolumn = 3\n[field cats]\ncolumn = 5\ntype = sequence\nshare = cat\n' \
	>>aligned.ini
echo 'history = h' >>aligned.ini
expect 0 "$T" check aligned.ini --data
[ "$(grep -c 'own history' err)" -eq 1 ] && grep -q 'in 1 of 2 rows' err || { cat err; exit 1; }
expect 0 "$T" check history.ini --data --json
grep -q '"rows_with_target":2' out || exit 1
# Where the spec names the item, other ids may come again; lists end before the row.
printf '[field number]\ncolumn = 2\n[items]\nkey = number\nnegatives = 1\n' | cat history.ini - |
	sed '/^label = 1/d' >other.ini
expect 0 "$T" check other.ini --data
grep -q 'own history' err && { cat err; exit 1; }
printf 'u a b a b a\n' >again.txt
expect 0 "$T" init --from again.txt --format lists --model two_tower
cp out again.ini
expect 0 "$T" check again.ini --data
grep -q 'own history' err && { cat err; exit 1; }
exit 0
