#!/bin/sh
# launch -H: hosts behind a program that stands for ssh; what it hands over, ends and deaths.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
undisturbed 10
# shellcheck disable=SC2086
set -- $RUN

# Stands for ssh: HOST COMMAND; keeps the command, for a look at what others could see.
cat >ssh <<END
#!/bin/sh
echo \$\$ >"$TMP/ssh.\$1.pid"
echo "\$2" >>"$TMP/commands"
echo 'welcome to this host'
exec sh -c "\$2"
END
chmod +x ssh
# hosts LIST MODEL OPTION...
hosts() {
	list=$1 model=$2
	shift 2
	timeout -k 9 60 "$T" launch -H "$list" --ssh "$TMP/ssh" --program "$T" s.ini -f "$model" "$@"
}

# Two hosts and one: the dump of one process, results of worker 0 alone on standard output.
expect 0 hosts 127.0.0.1:2,me@localhost:1 m --json -P none "$@"
dump m >have
same want have 'two hosts: another model'
[ "$(grep -c '"message_type":"summary"' out)" = 1 ] || { cat out err >&2; exit 1; }
[ "$(grep -vc '^{' out)" = 0 ] || { cat out >&2; exit 1; }
says '127.0.0.1: welcome'
nothing_left 'by two hosts'
expect 0 "$T" runs show last --json --db runs.db
prints '"reducer":"pushpull"'
expect 0 hosts localhost:2 m1 --ps 2 "$@"
dump m1 >have
same want have 'one host: another model'
expect 0 "$T" runs show last --json --db runs.db
prints '"reducer":"shm"'

# Started without any input, as by a daemon.
expect 0 hosts 127.0.0.1:1,localhost:1 m0 "$@" <&-
dump m0 >have
same want have 'no standard input: another model'

# Neither keys nor spec are in a command, and the keys in no file.
! grep -Eq 'secret|dropout|public' commands || { cat commands >&2; exit 1; }
expect 0 hosts 127.0.0.1:1,localhost:1 none -n "$@"
prints "$TMP/ssh localhost"
[ ! -e none ] || exit 1

# Refusals have the code of train.
expect 73 hosts 127.0.0.1:1,localhost:1 m "$@"
says '127.0.0.1: recsys-train: error'
expect 64 hosts 127.0.0.1:1,localhost:x m2 "$@"
expect 64 hosts -oProxyCommand=x m2 "$@"
expect 64 "$T" launch s.ini -f m2
says '-H'
expect 78 hosts 127.0.0.1:4,localhost:4 m2 "$@"
echo 'not a number	u1	i1	0.5' >bad.tsv
expect 65 hosts 127.0.0.1:1,localhost:1 m2 "$@" -d bad.tsv
says 'bad.tsv:1'
printf 'rubbish of some other kind, long enough to be a head\n' >rubbish
expect 76 "$T" launch --here <rubbish
nothing_left 'by refused runs'

# SIGTERM: saved, and --resume goes on to the same model.
"$T" launch -H 127.0.0.1:1,localhost:1 --ssh "$TMP/ssh" --program "$T" s.ini -f m3 "$@" \
	--epochs 10 -o train.checkpoint_every=0.05 2>err &
pid=$!
begun m3
sleep 0.2
kill -TERM $pid
ends $pid
nothing_left 'after SIGTERM'
case $code in
143) expect 0 hosts 127.0.0.1:2,localhost:1 m3 "$@" --epochs 10 --resume ;;
0) ;;                                  # it was faster than the signal
*) echo "exit $code after SIGTERM" >&2; cat err >&2; exit 1 ;;
esac
dump m3 >have
same want10 have 'SIGTERM and --resume changed the result'

# The way to a host breaks: it is started again.
"$T" launch -H 127.0.0.1:1,localhost:1 --ssh "$TMP/ssh" --program "$T" s.ini -f m4 "$@" \
	--epochs 10 -o train.checkpoint_every=0.05 2>err &
pid=$!
begun m4
kill -9 "$(cat ssh.localhost.pid)"
ends $pid
[ $code = 0 ] || { echo "a lost host: exit $code" >&2; cat err >&2; exit 1; }
dump m4 >have
same want10 have 'a host that was lost changed the result'
nothing_left 'after a host was lost'

# A host without the program is named, and its status is not taken for that of the run.
printf '#!/bin/sh\n[ "$1" = localhost ] && exit 127\nexec "%s" "$@"\n' "$TMP/ssh" >without
chmod +x without
expect 69 "$T" launch -H 127.0.0.1:1,localhost:1 --ssh "$PWD/without" --program "$T" s.ini -f m6 "$@"
grep -q 'localhost ended with status 127 before the program was there' err || {
	cat err >&2
	exit 1
}
nothing_left 'after a host without the program'

# The launcher dies: what it started ends.  The first host saves, and its coordinator stays two
# seconds more to tell nodes of the other, which died at once, if they come again.
"$T" launch -H 127.0.0.1:1,localhost:1 --ssh "$TMP/ssh" --program "$T" s.ini -f m5 "$@" \
	--epochs 100000 2>err &
pid=$!
begun m5
kill -9 $pid
wait $pid 2>/dev/null
nothing_left 'after launch was killed' 6
