/* Learning rate schedules. */
#include "train/schedule.h"

#include <math.h>

/* Share of the decay done at step t, 0 to 1; 0 when there is no length to decay over. */
static double
decay_share(const struct train_settings *s, uint64_t t, uint64_t total_steps)
{
	const uint64_t warmup = (uint64_t)s->warmup_steps;
	const uint64_t rest = total_steps > warmup ? total_steps - warmup : 0;
	const uint64_t length = s->decay_steps > 0 ? (uint64_t)s->decay_steps : rest;

	if (length == 0 || t < warmup)
		return 0;
	const double share = (double)(t - warmup) / (double)length;
	return share < 1 ? share : 1;
}

static double
factor_constant(const struct train_settings *s, uint64_t t, uint64_t total_steps, double plateau)
{
	(void)s, (void)t, (void)total_steps, (void)plateau;
	return 1;
}

/* Up to 1 over warmup_steps; then, when decay_steps is given, down to decay_floor. */
static double
factor_warmup_linear(const struct train_settings *s, uint64_t t, uint64_t total_steps,
	double plateau)
{
	(void)total_steps, (void)plateau;
	if (t < (uint64_t)s->warmup_steps)
		return (double)(t + 1) / (double)s->warmup_steps;
	return s->decay_steps > 0 ? 1 - (1 - s->decay_floor) * decay_share(s, t, 0) : 1;
}

/* Loshchilov and Hutter 2017 eq. (5), one period, after the warm-up. */
static double
factor_cosine(const struct train_settings *s, uint64_t t, uint64_t total_steps, double plateau)
{
	(void)plateau;
	if (t < (uint64_t)s->warmup_steps)
		return (double)(t + 1) / (double)s->warmup_steps;
	const double half_turn = cos(3.14159265358979323846 * decay_share(s, t, total_steps));
	return s->decay_floor + (1 - s->decay_floor) * (1 + half_turn) / 2;
}

static double
factor_plateau(const struct train_settings *s, uint64_t t, uint64_t total_steps, double plateau)
{
	(void)s, (void)t, (void)total_steps;
	return plateau;
}

static double (*const factor_table[])(const struct train_settings *, uint64_t, uint64_t, double) = {
	[SCHEDULE_CONSTANT] = factor_constant,
	[SCHEDULE_WARMUP_LINEAR] = factor_warmup_linear,
	[SCHEDULE_COSINE] = factor_cosine,
	[SCHEDULE_PLATEAU] = factor_plateau,
};

double
schedule_factor(const struct train_settings *s, uint64_t t, uint64_t total_steps, double plateau)
{
	return factor_table[s->schedule](s, t, total_steps, plateau);
}

double
schedule_batch_factor(const struct train_settings *s)
{
	return s->lr_scaling && s->lr_base_batch > 0
		? (double)s->batch_size / (double)s->lr_base_batch : 1;
}
