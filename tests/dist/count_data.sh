# Rows that count: every id adds exactly 2^-20 to its weight, so a weight tells how often its
# rows were trained.  Sourced, not run: writes log.csv and count.ini.
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
cat >count.ini <<'END'
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

# counted EPOCHS DUMP: the rows that a dump of text has counted are all.
counted() {
	awk -v epochs="$1" '
		$1 == "a.linear" || $1 == "b.linear" { if (NF == 3) sum += $3 * 1048576 }
		END {
			sum = sprintf("%.0f", sum)
			if (sum != 2 * 16384 * epochs) { print "counted " sum; exit 1 }
		}' "$2"
}
