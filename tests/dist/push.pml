/*
 * Rounds, pushes and cuts: W workers train N steps against S shards over a network that
 * loses and repeats messages, while processes die.
 *
 * What is proved: a shard applies every step once, with the push of every worker in it
 * exactly once; nothing of an earlier round is ever applied; a run goes on from the last
 * cut whatever died, and ends.  NO_DEDUPE, NO_EPOCH and NO_PARK take away one guard each;
 * the proof must then fail.
 */
#ifndef W
#define W 2
#endif
#ifndef S
#define S 1
#endif
#ifndef N
#define N 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef REPEATS
#define REPEATS 1
#endif

#ifdef NO_EPOCH
#define IS_OF_ROUND true
#else
#define IS_OF_ROUND (round == shard_epoch[me])
#endif
#ifdef NO_DEDUPE
#define IS_NEW true
#else
#define IS_NEW (!staged[me * W + who])
#endif
#ifdef NO_PARK
#define IS_DUE (round == shard_epoch[me])
#else
#define IS_DUE (round == shard_epoch[me] && applied[me] + 1 == step)
#endif

mtype = { PULL, PUSH, ROWS, DONE };

chan to_shard[S]  = [2] of { mtype, byte, byte, byte };   /* epoch, worker, step       */
chan to_worker[W] = [2] of { mtype, byte, byte, byte };   /* epoch, shard, step        */

byte epoch = 1;                    /* of the coordinator: the round                    */
byte cut_step, cut_value[S];       /* the version saved last                           */
byte crashes, losses, repeats, finished;

byte applied[S], value[S], shard_epoch[S];
bool staged[S * W];
byte saved[W];                     /* step up to which the worker knows of the cut     */

/* A message may be lost, or come twice; a full channel loses it, too. */
inline send_to(channel, kind, round, who, step)
{
	if
	:: full(channel) -> skip
	:: losses < LOSSES -> losses++
	:: nfull(channel) -> channel!kind(round, who, step)
	:: repeats < REPEATS && nfull(channel) ->
		repeats++;
		channel!kind(round, who, step);
		if
		:: nfull(channel) -> channel!kind(round, who, step)
		:: full(channel) -> skip
		fi
	fi
}

/* Any process of the round dies: the coordinator ends the round. */
active proctype reaper()
{
	do
	:: finished == W -> break
	:: crashes < CRASHES && finished == 0 -> atomic { crashes++; epoch++ }
	od
}

proctype shard(byte me)
{
	mtype kind;
	byte round, who, step, i;

	do
	:: finished == W -> break
	:: shard_epoch[me] != epoch ->             /* a new round: rows come from the cut */
		atomic {
			shard_epoch[me] = epoch;
			applied[me] = cut_step;
			value[me] = cut_value[me];
			i = 0;
			do
			:: i < W -> staged[me * W + i] = false; i++
			:: else -> break
			od
		}
	:: to_shard[me]?kind(round, who, step) ->
		atomic {
			if
			:: !IS_OF_ROUND -> skip
			:: IS_OF_ROUND && kind == PULL && IS_DUE ->
				assert(applied[me] + 1 == step);
				send_to(to_worker[who], ROWS, round, me, step)
			:: IS_OF_ROUND && kind == PUSH ->
				if
				:: step == applied[me] + 1 && IS_NEW ->
					assert(round == shard_epoch[me]);
					value[me]++;
					staged[me * W + who] = true
				:: else -> skip
				fi;
				send_to(to_worker[who], DONE, round, me, step);
				i = 0;
				do
				:: i < W && staged[me * W + i] -> i++
				:: else -> break
				od;
				if
				:: i == W ->
					applied[me]++;
					assert(value[me] == W * applied[me]);
					do
					:: i > 0 -> i--; staged[me * W + i] = false
					:: else -> break
					od
				:: else -> skip
				fi
			:: else -> skip                /* parked: it will be asked again  */
			fi;
			i = 0
		}
	od
}

/* Asks shard s until it answers; leaves when the round is over. */
inline ask(kind_out, kind_in)
{
	got = false;
	do
	:: got || epoch != mine -> break
	:: to_worker[me]?kind(round, who, answered) ->
		got = got ||
		    (kind == kind_in && round == mine && who == s && answered == step)
	/* Time-out: asked for the first time or, as nothing is under way, again. */
	:: !got && epoch == mine && empty(to_worker[me]) && empty(to_shard[s]) ->
		atomic { send_to(to_shard[s], kind_out, mine, me, step) }
	od
}

proctype worker(byte me)
{
	mtype kind;
	byte mine, round, who, answered, step, s;
	bool got;

again:	atomic { mine = epoch; step = cut_step + 1; }
	do
	:: epoch != mine -> goto again
	:: epoch == mine && step > N -> break
	:: epoch == mine && step <= N ->
		s = 0;
		do
		:: s < S -> ask(PULL, ROWS); s++
		:: else -> break
		od;
		s = 0;
		do
		:: s < S -> ask(PUSH, DONE); s++
		:: else -> break
		od;
		if
		:: epoch != mine -> goto again
		:: else -> skip
		fi;
		/* Every second step worker 0 saves, once every shard has applied the step, and
		 * the others wait. */
		if
		:: step % 2 != 0 && step < N -> skip
		:: else ->
		if
		:: me == 0 ->
			s = 0;
			do
			:: s < S ->
				if
				:: epoch != mine -> goto again
				:: epoch == mine && shard_epoch[s] == mine && applied[s] >= step -> s++
				fi
			:: else -> break
			od;
			atomic {
				if
				:: epoch == mine ->
					cut_step = step;
					s = 0;
					do
					:: s < S -> cut_value[s] = value[s]; s++
					:: else -> break
					od
				:: else -> goto again
				fi
			}
		:: me != 0 ->
			if
			:: epoch != mine -> goto again
			:: epoch == mine && cut_step >= step -> skip
			fi
		fi
		fi;
		step++
	od;
	/* The last step is saved: whoever dies now, the run is done. */
	atomic {
		assert(cut_step == N);
		s = 0;
		do
		:: s < S -> assert(cut_value[s] == W * N); s++
		:: else -> break
		od;
		finished++
	}
}

init
{
	byte i;

	atomic {
		for (i : 0 .. S - 1) { shard_epoch[i] = 1; run shard(i) }
		for (i : 0 .. W - 1) { run worker(i) }
	}
}
