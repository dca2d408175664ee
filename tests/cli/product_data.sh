# Functions of the scripts that try another way to multiply: sourced, not run.

# alike WHAT ARGUMENTS: runs of ARGUMENTS on s.ini, train.tsv and its halves make one model, on 1 to 3
# threads, whose dump is m1.dump, on two workers, and stopped and gone on.
alike() {
	what=$1 arguments=$2
	for threads in 1 2 3; do
		# shellcheck disable=SC2086
		expect 0 "$T" train s.ini $arguments -f m$threads -j $threads --epochs 2
		dump m$threads >m$threads.dump
		same m1.dump m$threads.dump "$what: $threads threads make another model"
	done
	if "$T" --version | grep -qw zmq; then
		# shellcheck disable=SC2086
		expect 0 "$T" train s.ini $arguments -f many -j 1 --epochs 2 --workers 2 --ps 1
		dump many >many.dump
		same m1.dump many.dump "$what: two workers make another model"
	fi
	# shellcheck disable=SC2086
	expect 0 "$T" train s.ini $arguments -f whole -o data.shuffle=no --epochs 1
	# shellcheck disable=SC2086
	expect 0 "$T" train s.ini $arguments -f half -o data.shuffle=no --epochs 1 -d a.tsv
	# shellcheck disable=SC2086
	expect 0 "$T" train s.ini $arguments -f half -o data.shuffle=no --epochs 1 -d b.tsv -i half
	dump whole >whole.dump
	dump half >half.dump
	same whole.dump half.dump "$what: stopped and gone on, another model"
}

# alike_models WHAT OPTION ARGUMENTS: the same of towers, whose rounds go over the same weights in
# several passes, with OPTION, and of a wide cross layer, with ARGUMENTS; on 1 and 3 threads.
alike_models() {
	what=$1 option=$2 arguments=$3
	expect 0 "$T" synth --layout retrieval -O pairs.tsv --rows 3000 --spec-out two.ini
	for threads in 1 3; do
		expect 0 "$T" train two.ini -d pairs.tsv -f two$threads -j $threads --epochs 1 \
			-o "$option" -o train.slots=4
		dump two$threads >two$threads.dump
		# shellcheck disable=SC2086
		expect 0 "$T" train s.ini $arguments -o model.type=dcn -f dcn$threads -j $threads \
			--epochs 1
		dump dcn$threads >dcn$threads.dump
	done
	same two1.dump two3.dump "$what: another two_tower with three threads"
	same dcn1.dump dcn3.dump "$what: another dcn with three threads"
}

# refused KEY INSTEAD ARGUMENTS COMMAND...: every command that would train refuses ARGUMENTS, says
# KEY and what to set INSTEAD, and leaves no model none/m.
refused() {
	key=$1 instead=$2 arguments=$3
	shift 3
	for command in 'train s.ini -f none/m' 'train s.ini -f none/m -o cluster.workers=2' \
		'plan s.ini' 'bench s.ini --rows 1000 --seconds 1'; do
		# shellcheck disable=SC2086
		expect 78 "$@" "$T" $command $arguments
		says "$key: "
		says "set $instead"
		[ ! -e none/m ] || { echo 'a refused run left a model' >&2; exit 1; }
	done
}
