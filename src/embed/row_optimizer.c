/* The table of row optimizers and their state. */
#include "embed/row_optimizer.h"

#include <string.h>

#define KERNEL(member) offsetof(struct kernel_set, member)

static const struct row_optimizer optimizer_table[] = {
	[ROW_SGD] =             { .name = "sgd", .kernel = KERNEL(row_sgd),
	                          .rows_kernel = KERNEL(rows_sgd) },
	[ROW_ADAGRAD] =         { .name = "adagrad", .per_column = 1, .n_accumulators = 1,
	                          .decays = 1, .kernel = KERNEL(row_adagrad),
	                          .rows_kernel = KERNEL(rows_adagrad) },
	[ROW_ROWWISE_ADAGRAD] = { .name = "rowwise_adagrad", .per_row = 1, .n_accumulators = 1,
	                          .decays = 1, .kernel = KERNEL(row_rowwise_adagrad),
	                          .rows_kernel = KERNEL(rows_rowwise_adagrad) },
	[ROW_ADAM] =            { .name = "adam", .per_column = 2, .per_row = 1,
	                          .kernel = KERNEL(row_adam),
	                          .rows_kernel = KERNEL(rows_adam) },
	[ROW_FTRL] =            { .name = "ftrl", .per_column = 2, .n_accumulators = 1,
	                          .kernel = KERNEL(row_ftrl),
	                          .rows_kernel = KERNEL(rows_ftrl) },
};

#define N_OPTIMIZERS (sizeof(optimizer_table) / sizeof(optimizer_table[0]))

const struct row_optimizer *
row_optimizer_get(enum row_optimizer_kind kind)
{
	return &optimizer_table[kind];
}

const struct row_optimizer *
row_optimizer_find(const char *name)
{
	for (size_t i = 0; i < N_OPTIMIZERS; i++)
		if (strcmp(optimizer_table[i].name, name) == 0)
			return &optimizer_table[i];
	return NULL;
}

size_t
row_optimizer_slots(const struct row_optimizer *o, size_t D)
{
	return o->per_column * D + o->per_row;
}

void
row_optimizer_init(const struct row_optimizer *o, const struct row_optimizer_settings *s, size_t D,
	float *slot)
{
	const size_t n = row_optimizer_slots(o, D);
	const size_t block = o->per_column > 0 ? D : o->per_row;

	for (size_t i = 0; i < n; i++)
		slot[i] = i < o->n_accumulators * block ? (float)s->initial_accumulator : 0.0f;
}

void
row_optimizer_decay(const struct row_optimizer *o, const struct row_decay *decay, size_t D,
	float *slot)
{
	const size_t n = o->n_accumulators * (o->per_column > 0 ? D : o->per_row);

	for (size_t i = 0; i < n; i++) {
		const float x = slot[i] * decay->factor;

		slot[i] = x > decay->least ? x : decay->least;
	}
}

row_kernel *
row_optimizer_kernel(const struct row_optimizer *o, const struct kernel_set *kernel)
{
	row_kernel *function;

	memcpy(&function, (const char *)kernel + o->kernel, sizeof(function));
	return function;
}

rows_kernel *
row_optimizer_rows_kernel(const struct row_optimizer *o, const struct kernel_set *kernel)
{
	rows_kernel *function;

	memcpy(&function, (const char *)kernel + o->rows_kernel, sizeof(function));
	return function;
}

struct row_args
row_optimizer_args(const struct row_optimizer_settings *s, size_t D, double rate_factor)
{
	return (struct row_args){
		.D = D,
		.rate = (float)(s->learning_rate * (s->scheduled ? rate_factor : 1.0)),
		.epsilon = (float)s->epsilon,
		.beta1 = (float)s->beta1,
		.beta2 = (float)s->beta2,
		.l1 = (float)s->l1,
		.l2 = (float)s->l2,
		.ftrl_beta = (float)s->ftrl_beta,
		.ftrl_l1 = (float)s->ftrl_l1,
		.ftrl_l2 = (float)s->ftrl_l2,
		.ftrl_power = (float)s->ftrl_power,
	};
}
