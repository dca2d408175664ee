#!/bin/sh
# train under a Slurm of this host alone, started here: the dump of one process, signals, a
# job that is queued again, a worker that dies.
set -u
. "$SRCDIR/tests/dist/job_data.sh"
PATH=$PATH:/usr/sbin:/sbin
for tool in munged slurmctld slurmd srun sbatch scontrol scancel; do
	command -v $tool >/dev/null || { echo "no $tool"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo 'not root, who starts slurmd'; exit 77; }

# --- a Slurm in $TMP/slurm ------------------------------------------------------------------
S=$TMP/slurm
mkdir -m 755 "$S" "$S/state" "$S/spool"
mkdir -m 700 "$S/munge"
head -c 128 /dev/urandom >"$S/munge/key"
chmod 400 "$S/munge/key"
port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 10000))
host=$(hostname -s)
cat >"$S/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$S/munge.sock,cred_expire=5
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$S/state
SlurmdSpoolDir=$S/spool
SlurmctldPidFile=$S/slurmctld.pid
SlurmdPidFile=$S/slurmd.pid
SlurmctldLogFile=$S/slurmctld.log
SlurmdLogFile=$S/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1,batch_sched_delay=0
KillWait=10
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=p Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
END
SLURM_CONF=$S/slurm.conf
export SLURM_CONF

stop_slurm() {
	for daemon in slurmd.pid slurmctld.pid munge/pid; do
		[ -f "$S/$daemon" ] || continue
		pid=$(cat "$S/$daemon")
		kill "$pid" 2>/dev/null
		tries=0
		while kill -0 "$pid" 2>/dev/null && [ $tries -lt 100 ]; do
			tries=$((tries + 1))
			sleep 0.05
		done
		kill -9 "$pid" 2>/dev/null
	done
}
trap 'stop_slurm; rm -rf "$TMP"' EXIT
trap 'exit 143' HUP INT TERM
cannot() {
	echo "$1 does not start here:"
	cat "$S"/*.log "$S/munge/log" 2>/dev/null | tail -n 20
	exit 77
}
munged --force --key-file="$S/munge/key" --socket="$S/munge.sock" --pid-file="$S/munge/pid" \
	--log-file="$S/munge/log" --seed-file="$S/munge/seed" 2>/dev/null || cannot munged
slurmctld -c 2>/dev/null || cannot slurmctld
slurmd -c 2>/dev/null || cannot slurmd
tries=0
until sinfo -h -o %t 2>/dev/null | grep -q idle; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || cannot 'the node'
	sleep 0.1
done

# --- the tests ------------------------------------------------------------------------------
make_rows 3000 1 >train.tsv
make_rows 300 2 >valid.tsv
make_spec s.ini
set -- --valid valid.tsv --epochs 2 $JOB -o train.early_stop=0 -o data.row_group=20k \
	-o data.shuffle_window=60k
expect 0 "$T" train s.ini -f whole "$@"
dump whole >want
expect 0 "$T" train s.ini -f long "$@" --epochs 12
dump long >want12

# left WHEN: nothing of a run, no file with a key.
left() {
	nothing_left "$1"
	[ -z "$(find . -name '.*.job*')" ] || { echo "a file of keys is left $1"; exit 1; }
}

expect 0 timeout -k 9 60 srun -O -n 2 "$T" train s.ini -f m "$@"
dump m >have
same want have 'srun: another model'
left 'by srun'
expect 0 "$T" runs show last --json --db runs.db
prints '"reducer":"shm"'
prints '"status":"ok"'

expect 0 timeout -k 9 60 srun -O -n 3 "$T" train s.ini -f m2 --ps 2 "$@" -o placement.dense=pushpull \
	-o cluster.listen=tcp://127.0.0.1:0
dump m2 >have
same want have 'srun with sums through the shards: another model'
left 'by srun with pushpull'

if srun --mpi=list 2>&1 | grep -q pmix && [ -f "$BUILDDIR/recsys-train-mpi-openmpi.so" ]; then
	expect 0 timeout -k 9 60 srun -O -n 2 --mpi=pmix "$T" train s.ini -f m3 "$@"
	dump m3 >have
	same want have 'srun --mpi=pmix: another model'
	expect 0 "$T" runs show last --json --db runs.db
	prints '"reducer":"mpi"'
	left 'by srun --mpi=pmix'
else
	echo 'no PMIx in this Slurm, or no plug-in for Open MPI'
fi

# What worker 0 refuses is told to the others, who do not wait for it.
expect 73 timeout -k 9 60 srun -O -n 2 "$T" train s.ini -f m "$@"
[ "$(grep -c 'error:.*holds a trained' err)" = 1 ] || { cat err >&2; exit 1; }
left 'by a run that was refused'

# A worker that dies does not come back: the job ends.
timeout -k 9 60 srun -O -n 2 "$T" train s.ini -f "$TMP/m4" "$@" --epochs 40000 -o cluster.absence=1 2>err &
pid=$!
begun m4
sleep 0.3
kill -9 "$(pgrep -f "recsys-train train s.ini -f $TMP/m4" | while read -r p; do
	tr '\0' '\n' <"/proc/$p/environ" | grep -qx SLURM_PROCID=1 && echo "$p" && break
done)"
ends $pid
grep -q 'worker 1' err || { cat err >&2; exit 1; }
case $code in 69|137) ;; *) echo "a dead worker: exit $code" >&2; cat err >&2; exit 1 ;; esac
left 'after a worker died'

# scancel --signal=TERM: saved, 143; queued again, it goes on by itself.
cat >job.sh <<END
#!/bin/sh
srun -O -n 2 "$T" train s.ini -f m5 $* --epochs 12 -o train.checkpoint_every=0.05
code=\$?
echo "code \$code" >>codes
exit \$code
END
expect 0 sbatch --parsable --requeue -n 2 -o job.out job.sh
job=$(cat out)
begun m5
sleep 0.3
scancel --signal=TERM "$job.0"
# wait_codes N
wait_codes() {
	tries=0
	until [ -f codes ] && [ "$(wc -l <codes)" -ge "$1" ]; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] || { cat job.out "$S/slurmctld.log" >&2; scontrol show job "$job" >&2; exit 1; }
		sleep 0.05
	done
}
wait_codes 1
grep -qx 'code 143' codes || { cat codes job.out >&2; exit 1; }
left 'after SIGTERM'
scontrol requeue "$job" || exit 1
wait_codes 2
grep -qx 'code 0' codes || { cat codes job.out >&2; exit 1; }
dump m5 >have
same want12 have 'queued again: another model'
left 'by a job that was queued again'
