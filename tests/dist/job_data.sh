# Functions of the scripts that run jobs of many processes: sourced, not run.
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
mkdir -m 700 run
XDG_RUNTIME_DIR=$TMP/run
export XDG_RUNTIME_DIR

"$T" --version | grep -qw zmq || { echo 'built without ZeroMQ'; exit 77; }

# Six slots, tables that are worth two shards, deaths that are forgiven.
JOB="-o train.slots=6 -o train.batch_size=120 -o placement.min_shard_bytes=1
	-o cluster.restarts=1000"

# undisturbed EPOCHS: rows, s.ini and the arguments of a run in RUN; want has the dump of one
# process, wantEPOCHS that of one with so many epochs.
undisturbed() {
	make_rows 3000 1 >train.tsv
	make_rows 300 2 >valid.tsv
	make_spec s.ini
	RUN="--valid valid.tsv --epochs 2 $JOB -o train.early_stop=0"
	# shellcheck disable=SC2086
	expect 0 "$T" train s.ini -f whole $RUN
	dump whole >want
	# shellcheck disable=SC2086
	expect 0 "$T" train s.ini -f long $RUN --epochs "$1"
	dump long >"want$1"
}

# nodes PATTERN: process numbers of this script's nodes, for instance 'worker --index 1'.
nodes() {
	pgrep -f -- "node --role $1.* $TMP/run/" || :
}

# nothing_left WHEN [SECONDS]: no process and no file of a job, within two seconds.
nothing_left() {
	tries=0
	limit=$((${2:-2} * 50))
	while [ -n "$(nodes .)" ] || [ -n "$(ls -A "$TMP/run")" ]; do
		tries=$((tries + 1))
		if [ $tries -gt $limit ]; then
			echo "left $1:" >&2
			nodes . | xargs -r ps -o pid,ppid,stat,args -p >&2
			find "$TMP/run" >&2
			exit 1
		fi
		sleep 0.02
	done
}

# begun MODEL: the run holds its model directory, so all nodes are there.
begun() {
	tries=0
	until [ -e "$1/LOCK" ]; do
		tries=$((tries + 1))
		[ $tries -lt 1000 ] || { echo "no run in $1 within 10 s" >&2; cat err >&2; exit 1; }
		sleep 0.01
	done
}

# between LOW HIGH: a random number of seconds.
between() {
	awk -v a="$1" -v b="$2" -v s="$(($(od -An -N4 -tu4 /dev/urandom) % 2147483647))" \
		'BEGIN { srand(s); printf "%.3f", a + (b - a) * rand() }'
}

# loses MODEL WHO CONDITION COMMAND...: a job that trains MODEL, of which nodes are killed once the
# condition holds, ends well; it is run with -v.  One that was over before the others had to go back
# is run anew.
loses() {
	lost_by=$1 who=$2 condition=$3
	shift 3
	tries=0
	while :; do
		rm -rf "$lost_by"
		"$@" >out 2>err & pid=$!
		until eval "$condition" || ! kill -0 $pid 2>/dev/null; do
			sleep 0.02
		done
		nodes "$who" | xargs -r kill -9 2>/dev/null
		ends $pid
		[ $code = 0 ] || {
			echo "exit $code after the death of $who" >&2; cat err >&2; exit 1; }
		grep -q "${who%% *}.*killed by signal 9.*started again" err &&
			grep -q 'round [2-9][0-9]* goes on' err && return
		tries=$((tries + 1))
		[ $tries -lt 20 ] || { echo "$who was never killed in time" >&2; exit 1; }
	done
}

# as_alone WHAT OPTION...: what one process learns, whose dump is left in want, is learned on
# shards, in allreduce and with a shard killed, too.
as_alone() {
	what=$1
	shift
	set -- "$@" $JOB --epochs 8 -P none
	rm -rf alone killed
	expect 0 "$T" train s.ini -f alone "$@"
	dump alone >want
	for place in '--workers 2 --ps 2' '--workers 3 --ps 0 -o placement.mode=allreduce'; do
		rm -rf many
		# shellcheck disable=SC2086
		expect 0 "$T" train s.ini -f many "$@" $place
		dump many >have
		same want have "$what, $place: another model"
	done
	loses killed 'ps --index 0' 'grep -q "\"epoch\":[2-9]," out' \
		timeout -k 9 60 "$T" train s.ini -f killed "$@" -v --json --workers 2 --ps 2
	dump killed >have
	same want have "$what, a killed shard: another model"
	nothing_left "$what"
}

# tenants: train.tsv with ids that come and go, s.ini, and RULES of tables in which they do.
tenants() {
	awk 'function u() { s = (s * 69069 + 1) % 4294967296; return s / 4294967296 }
	BEGIN {
		s = 7
		for (i = 0; i < 9000; i++) {
			a = u() < 0.5 ? int(u() * u() * 200) : 1000 + int(i / 4 + u() * 40)
			printf "%d\tu%d\ti%d\t%.3f\t%d\n", (u() < 0.3), a, u() * 40, u(),
				1700000000 + i * 6
		}
	}' >train.tsv
	make_spec s.ini
	RULES="$JOB -o embedding.table=exact -o data.time=5 -o data.shuffle=no -o train.early_stop=0
		-o embedding.expire_after=9h -o embedding.max_bytes=320k -o embedding.admit_count=2
		-o embedding.admit_cells=64k"
}

# train_rules MODEL OPTION...
train_rules() {
	# shellcheck disable=SC2086
	expect 0 timeout -k 9 100 "$T" train s.ini $RULES -f "$@"
}

# same_tables MODEL VERSION MODEL VERSION WHAT: rows, and who waits for one.
same_tables() {
	for file in "$1/$2"/t[ae]*; do
		cmp "$file" "$3/$4/${file##*/}" || { echo "$5: another ${file##*/}" >&2; exit 1; }
	done
}

# came_and_went: the figures of exact tables in the summary of the last run with --json.
came_and_went() { tail -n 1 out | grep -o '"exact":{.*}'; }
