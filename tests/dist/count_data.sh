# Rows that count: every id adds exactly 2^-20 to its weight, so a weight tells how often its
# rows were trained.  Sourced, not run: writes log.csv and count.ini.  TABLE=exact: with such
# tables, which count occurrences themselves too.
# Labels of 2^30 make the gradient of a squared error the same in every row, whatever
# the weights: 2^21 / 2^10 rows, times a rate of 2^-41 and the 1024 rows of a batch.
awk 'BEGIN {
	s = 3
	print "label,a,b"
	for (i = 0; i < 16384; i++) {
		s = (s * 69069 + 1) % 4294967296; u = s / 4294967296
		s = (s * 69069 + 1) % 4294967296; v = s / 4294967296
		printf "1073741824,u%d,i%d\n", u * u * 500, v * v * 300
	}
}' >log.csv
cat >count.ini <<END
[model]
type = fm
loss = mse
[data]
train = log.csv
format = csv
label = label
label_type = real
[field a]
buckets = 20000
[field b]
buckets = 20000
[embedding]
table = ${TABLE:=hashed}
dim = 4
init_stddev = 0
optimizer = sgd
learning_rate = 4.547473508864641e-13
[train]
batch_size = 1024
slots = 4
optimizer = sgd
learning_rate = 1e-30
early_stop = 0
END

# rows_of MODEL: what it has, without the steps of an exact table.  Entries of one number are 24
# bytes behind the 320 of the header: id, when it was trained last, how often, the weight.
rows_of() {
	if [ "${TABLE:-hashed}" = hashed ]; then
		"$T" inspect "$1" --dump text
		return
	fi
	for name in a b; do
		file=$(find "$1" -name table-$name.linear.0-of-1.bin | sort | tail -n 1)
		od -An -v -j320 -w24 -tu4 "$file" >numbers || return
		od -An -v -j320 -w24 -tf4 "$file" | paste numbers - | awk -v name=$name.linear '{
			if ($4 == 0 || $4 != int($11 * 1048576 + 0.5)) exit 1
			printf "%s %d:%d %.17g\n", name, $2, $1, $4 / 1048576
		}' || return
	done
}

# counted EPOCHS DUMP: the rows that rows_of() printed have counted all.
counted() {
	awk -v epochs="$1" '
		$1 == "a.linear" || $1 == "b.linear" { if (NF == 3) sum += $3 * 1048576 }
		END {
			sum = sprintf("%.0f", sum)
			if (sum != 2 * 16384 * epochs) { print "counted " sum; exit 1 }
		}' "$2"
}
