/*
 * Row optimizers against an implementation in NumPy, tests/embed/numpy_check.py, which runs
 * this program again for every case:
 *
 *     numpy_test KERNEL OPTIMIZER DIM ROWS N STEPS <steps >rows
 *
 * A step is, for each of SLOTS slots, ids u64 [N], scales float [N] and gradients
 * float [N,DIM]; what is written are the weights [ROWS,DIM] before all steps, and behind
 * them weights, then optimizer values of all rows.  Exit 77: no NumPy.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "embed/lookup.h"
#include "embed/row_optimizer.h"
#include "kernel/kernel.h"

enum { SLOTS = 4 };

struct replay {
	const struct kernel_set *kernel;
	const struct row_optimizer *optimizer;
	size_t D, rows, N, steps, n_slot;
	struct lookup *lookup;
	uint64_t *id;              /* [SLOTS,N]                                       */
	float    *scale, *value;   /* [SLOTS,N] and [SLOTS,N,D]                       */
	const float **grad;        /* [SLOTS,N]                                       */
	float    *weights, *slots; /* [rows,D] and [rows,n_slot]                      */
	uint8_t  *touched;
};

static int
give_up(const char *what)
{
	fprintf(stderr, "numpy_test: %s\n", what);
	return 1;
}

static enum row_optimizer_kind
kind_of(const char *name)
{
	static const enum row_optimizer_kind kind[] = { ROW_SGD, ROW_ADAGRAD,
		ROW_ROWWISE_ADAGRAD, ROW_ADAM, ROW_FTRL };

	for (size_t i = 0; i < sizeof kind / sizeof *kind; i++)
		if (strcmp(row_optimizer_get(kind[i])->name, name) == 0)
			return kind[i];
	exit(give_up("no such optimizer"));
}

static enum rs_status
set_up(struct replay *r, char **argv)
{
	const struct lookup_table table = { .name = "T", .dim = r->D, .rows = r->rows,
		.init_stddev = 0.1, .seed = 7, .optimizer = { .kind = kind_of(argv[2]),
		.learning_rate = 0.05, .initial_accumulator = 0.1, .epsilon = 1e-7, .beta1 = 0.9,
		.beta2 = 0.999, .l1 = 1e-4, .l2 = 0.01, .ftrl_beta = 1, .ftrl_l1 = 0.001,
		.ftrl_l2 = 0.01, .ftrl_power = -0.5 } };
	const size_t n = SLOTS * r->N;

	RS_TRY(kernel_select(argv[1], &r->kernel));
	const struct lookup_local_options o = { .kernel = r->kernel, .table = &table,
		.n_tables = 1, .n_slots = SLOTS, .n_inputs = 1, .n_threads = 1,
		.for_training = 1 };
	RS_TRY(lookup_local_open(&o, &r->lookup));
	r->n_slot = lookup_local_slots(r->lookup, 0);
	RS_TRY(memory_alloc(n, sizeof *r->id, &r->id));
	RS_TRY(memory_alloc(n, sizeof *r->scale, &r->scale));
	RS_TRY(memory_alloc(n, r->D * sizeof *r->value, &r->value));
	RS_TRY(memory_alloc(n, sizeof *r->grad, &r->grad));
	RS_TRY(memory_alloc(r->rows, r->D * sizeof *r->weights, &r->weights));
	RS_TRY(memory_alloc(r->rows, (r->n_slot + 1) * sizeof *r->slots, &r->slots));
	return memory_alloc(r->rows, 1, &r->touched);
}

static int
take(void *to, size_t size, size_t n)
{
	return fread(to, size, n, stdin) == n;
}

static enum rs_status
run_step(struct replay *r, uint64_t step)
{
	const struct lookup_commit commit = { .step = step, .finite = 1, .rate_factor = 1,
		.n_workers = 1 };

	for (size_t s = 0; s < SLOTS; s++) {
		const size_t at = s * r->N;

		if (!take(r->id + at, sizeof *r->id, r->N) ||
		    !take(r->scale + at, sizeof *r->scale, r->N) ||
		    !take(r->value + at * r->D, sizeof *r->value, r->N * r->D))
			exit(give_up("the steps end too early"));
		for (size_t j = at; j < at + r->N; j++)
			r->grad[j] = r->value + j * r->D;
		const struct lookup_push push = { .slot = s, .ids = r->id + at, .n = r->N,
			.grad = r->grad + at, .scale = r->scale + at };
		RS_TRY(r->lookup->ops->push(r->lookup, &push));
	}
	return r->lookup->ops->commit(r->lookup, &commit);
}

static enum rs_status
give_rows(struct replay *r, int with_slots)
{
	const struct lookup_rows rows = { .n = r->rows, .weights = r->weights,
		.slots = r->slots, .touched = r->touched };
	const size_t n = r->rows * r->D, m = with_slots ? r->rows * r->n_slot : 0;

	RS_TRY(lookup_local_get(r->lookup, &rows));
	if (fwrite(r->weights, sizeof(float), n, stdout) != n ||
	    fwrite(r->slots, sizeof(float), m, stdout) != m)
		exit(give_up("cannot write"));
	return RS_OK;
}

static enum rs_status
replay(struct replay *r, char **argv)
{
	RS_TRY(set_up(r, argv));
	RS_TRY(give_rows(r, 0));
	for (uint64_t step = 1; step <= r->steps; step++)
		RS_TRY(run_step(r, step));
	return give_rows(r, 1);
}

/* By the interpreter that has NumPy. */
static int
run_cases(const char *program)
{
	const char *const source = getenv("SRCDIR"), *const build = getenv("BUILDDIR");
	char script[1024], python[1024];

	if (source == NULL || build == NULL)
		return give_up("SRCDIR and BUILDDIR are not set");
	snprintf(script, sizeof script, "%s/tests/embed/numpy_check.py", source);
	snprintf(python, sizeof python, "%s/venv/bin/python", build);
	execl(python, python, script, program, (char *)NULL);
	execlp("python3", "python3", script, program, (char *)NULL);
	fprintf(stderr, "numpy_test: no Python, so that row optimizers are not compared\n");
	return 77;
}

int
main(int argc, char **argv)
{
	if (argc != 7)
		return run_cases(argv[0]);
	struct replay r = { .D = strtoul(argv[3], NULL, 10), .rows = strtoul(argv[4], NULL, 10),
		.N = strtoul(argv[5], NULL, 10), .steps = strtoul(argv[6], NULL, 10) };
	if (replay(&r, argv) != RS_OK)
		return give_up("a step failed");
	r.lookup->ops->close(r.lookup);
	free(r.id);
	free(r.scale);
	free(r.value);
	free(r.grad);
	free(r.weights);
	free(r.slots);
	free(r.touched);
	return 0;
}
