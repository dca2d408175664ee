/*
 * Products of two bytes inside a graph: close to floats in training, floats elsewhere, weights
 * rounded when they change.  oneDNN runs here with operands of four bytes, where it is.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "config.h"
#include "graph/node.h"
#include "tests/test.h"
#ifdef HAVE_ONEDNN
#include "kernel/onednn/onednn.h"
#endif

enum { D = 12, N_FIELDS = 2, B_MAX = 40, ROWS = 33, N_LAYERS = 4 };

static const struct graph_field field_table[N_FIELDS] = {
	{ .name = "C1", .column = 0, .schema_table = 0, .dim = D },
	{ .name = "C2", .column = 1, .schema_table = 1, .dim = D },
};

struct bed {
	struct graph *g;
	struct exec *e;
	size_t P;
	float *param, *grad;
	float table[N_FIELDS][B_MAX * D], label[B_MAX], weight[B_MAX];
	const float *row[N_FIELDS][B_MAX];
	const float *const *row_p[N_FIELDS];
	struct feed feed;
	double loss;
	float logit[B_MAX];
};

static struct node *
dense_layer(struct graph *g, struct node *x, const char *name, size_t H, int act)
{
	return graph_linear(g, x, &(struct graph_linear_options){
		.name = name, .H = H, .act = act, .init = PARAM_XAVIER_UNIFORM });
}

/* A cross layer of low rank, two layers that can be narrow and one that cannot. */
static struct node *
build(struct graph *g)
{
	const struct graph_weight_options u = { .name = "u", .init = PARAM_XAVIER_UNIFORM };
	const struct graph_weight_options v = { .name = "v", .init = PARAM_XAVIER_UNIFORM };
	struct node *x0 = graph_embedding(g, field_table, N_FIELDS);
	struct node *x = graph_cross_v2(g, x0, x0, graph_product(g, x0, 16, &v), &u);

	x = dense_layer(g, x, "a", 20, KERNEL_ACT_RELU);
	x = dense_layer(g, x, "b", 17, KERNEL_ACT_TANH);
	return dense_layer(g, x, "c", 1, KERNEL_ACT_NONE);
}

static void
bed_feed(struct bed *f)
{
	uint64_t counter = 0;

	for (size_t i = 0; i < N_FIELDS; i++) {
		for (size_t k = 0; k < B_MAX * D; k++)
			f->table[i][k] = (float)(2 * rng_uniform(5, counter++) - 1);
		for (size_t b = 0; b < B_MAX; b++)
			f->row[i][b] = f->table[i] + b * D;
		f->row_p[i] = f->row[i];
	}
	for (size_t b = 0; b < B_MAX; b++) {
		f->label[b] = b % 3 == 0;
		f->weight[b] = 1;
	}
	f->feed = (struct feed){ .B = ROWS, .label = f->label, .weight = f->weight,
		.row = f->row_p, .loss_scale = 1.0f / ROWS };
}

/* set NULL: floats. */
static void
bed_open(struct bed *f, const struct narrow_set *set)
{
	memset(f, 0, sizeof(*f));
	assert_int_equal(graph_create(&kernel_ref, &f->g), RS_OK);
	assert_int_equal(graph_finish(f->g, build(f->g), 0), RS_OK);
	if (set != NULL)
		assert_int_equal(graph_set_narrow(f->g, set, ROWS), RS_OK);
	f->P = graph_param_size(f->g);
	f->param = calloc(f->P, sizeof(float));
	f->grad = calloc(f->P, sizeof(float));
	graph_init_params(f->g, 3, f->param);
	assert_int_equal(exec_create(f->g, 0, B_MAX, &f->e), RS_OK);
	assert_int_equal(exec_reserve_training(f->e, GRAPH_LOGIT, ROWS), RS_OK);
	bed_feed(f);
}

static void
bed_close(struct bed *f)
{
	exec_destroy(f->e);
	graph_destroy(f->g);
	free(f->param);
	free(f->grad);
}

static void
bed_forward(struct bed *f, int training)
{
	const float *logit = exec_forward(f->e, f->param, &f->feed, training);

	assert_non_null(logit);
	memcpy(f->logit, logit, f->feed.B * sizeof(float));
}

static void
bed_step(struct bed *f, size_t rows)
{
	f->feed.B = rows;
	f->loss = 0;
	bed_forward(f, 1);
	exec_loss(f->e, &f->feed, &f->loss);
	exec_backward(f->e, f->param, &f->feed, 1, f->grad);
}

/* Largest distance between gradients, over the largest of them. */
static double
gradient_distance(const struct bed *a, const struct bed *b)
{
	double far = 0, most = 0;

	for (size_t i = 0; i < a->P; i++) {
		far = larger_or_nan(far, fabs((double)a->grad[i] - b->grad[i]));
		most = fmax(most, fabs((double)a->grad[i]));
	}
	for (size_t i = 0; i < N_FIELDS; i++)
		for (size_t r = 0; r < a->feed.B; r++)
			for (size_t d = 0; d < D; d++)
				far = larger_or_nan(far, fabs((double)exec_row_grad(a->e, i)[r][d]
					- exec_row_grad(b->e, i)[r][d]));
	return far / most;
}

static void
check_close(const struct narrow_set *set, double least, double most)
{
	static const size_t rows[] = { ROWS, 1, 20, ROWS };
	struct bed plain, narrow;

	bed_open(&plain, NULL);
	bed_open(&narrow, set);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bed_step(&plain, rows[i]);
		bed_step(&narrow, rows[i]);
		assert_float_equal(narrow.loss / plain.loss, 1, most);
		assert_true(gradient_distance(&plain, &narrow) <= most);
		assert_true(gradient_distance(&plain, &narrow) >= least);
	}
	bed_close(&plain);
	bed_close(&narrow);
}

/* Each operand is off by at most 2^-9 of itself, on four layers and back. */
static void
rounded_training_is_near_to_floats(void **state)
{
	(void)state;
	check_close(&narrow_rounded, 0x1p-14, 16 * 0x1p-9);
}

#ifdef HAVE_ONEDNN
/* Fewer rows than usual are the kernel's product to the bit. */
static void
check_plain(const struct narrow_set *set)
{
	struct bed plain, other;

	check_close(set, 0, 1e-5);
	bed_open(&plain, NULL);
	bed_open(&other, set);
	assert_int_equal(exec_reserve_training(other.e, GRAPH_LOGIT, B_MAX), RS_OK);
	bed_step(&plain, ROWS - 1);
	bed_step(&other, ROWS - 1);
	assert_memory_equal(plain.logit, other.logit, (ROWS - 1) * sizeof(float));
	assert_memory_equal(plain.grad, other.grad, plain.P * sizeof(float));
	bed_step(&plain, ROWS);
	bed_step(&other, ROWS);
	assert_memory_not_equal(plain.grad, other.grad, plain.P * sizeof(float));
	bed_close(&plain);
	bed_close(&other);
}
#endif

static void
onednn_of_four_bytes_is_floats(void **state)
{
#ifdef HAVE_ONEDNN
	const struct narrow_set *set;

	(void)state;
	if (onednn_whole(&set) == RS_OK) {
		check_close(set, 0, 1e-5);
		assert_int_equal(onednn_plain(&set), RS_OK);
		check_plain(set);
		return;
	}
	print_message("%s\n", rs_failure()->text);
#else
	(void)state;
	print_message("this build has no oneDNN\n");
#endif
	skip();
}

static void
what_does_not_train_is_in_floats(void **state)
{
	struct bed plain, narrow;

	(void)state;
	bed_open(&plain, NULL);
	bed_open(&narrow, &narrow_rounded);
	bed_forward(&plain, 0);
	bed_forward(&narrow, 0);
	assert_memory_equal(plain.logit, narrow.logit, ROWS * sizeof(float));
	bed_forward(&plain, 1);
	bed_forward(&narrow, 1);
	assert_memory_not_equal(plain.logit, narrow.logit, ROWS * sizeof(float));
	bed_close(&plain);
	bed_close(&narrow);
}

static void
weights_are_rounded_when_they_are_said_to_change(void **state)
{
	float before[ROWS];
	struct bed f;

	(void)state;
	bed_open(&f, &narrow_rounded);
	bed_forward(&f, 1);
	memcpy(before, f.logit, sizeof(before));
	f.param[graph_param(f.g, 0)->offset] += 1;
	bed_forward(&f, 1);
	assert_memory_equal(f.logit, before, sizeof(before));
	graph_weights_changed(f.g);
	bed_forward(&f, 1);
	assert_memory_not_equal(f.logit, before, sizeof(before));
	bed_close(&f);
}

static void
only_wide_layers_of_the_batch_are_narrow(void **state)
{
	struct bed f;
	size_t n = 0;

	(void)state;
	bed_open(&f, &narrow_rounded);
	for (size_t i = 0; i < f.g->n_nodes; i++)
		n += f.g->layer[i].narrow != NULL;
	assert_int_equal(n, N_LAYERS);
	assert_null(f.g->layer[f.g->logit->index].narrow);
	/* In the list of products: the first of each three, but those of the last layer. */
	for (size_t k = 0; k < 3 * (N_LAYERS + 1); k++)
		assert_int_equal(graph_gemm_layer(f.g, k) != NULL,
			k % 3 == 0 && k < 3 * N_LAYERS);
	bed_close(&f);
}

enum { THREADS = 3, TIMES = 50 };

struct lane { struct bed *bed; struct exec *e; float logit[ROWS]; pthread_barrier_t *gate; };

static void *
lane_main(void *argument)
{
	struct lane *l = argument;

	for (size_t i = 0; i < TIMES; i++) {
		pthread_barrier_wait(l->gate);
		const float *logit = exec_forward(l->e, l->bed->param, &l->bed->feed, 1);
		memcpy(l->logit, logit, sizeof(l->logit));
		pthread_barrier_wait(l->gate);
	}
	return NULL;
}

/* All want the new weights at once; one rounds them, nobody sees half of it. */
static void
threads_share_the_rounded_weights(void **state)
{
	struct lane lane[THREADS];
	pthread_t thread[THREADS];
	pthread_barrier_t gate;
	struct bed f;

	(void)state;
	bed_open(&f, &narrow_rounded);
	pthread_barrier_init(&gate, NULL, THREADS + 1);
	for (size_t i = 0; i < THREADS; i++) {
		lane[i] = (struct lane){ .bed = &f, .gate = &gate };
		assert_int_equal(exec_create(f.g, 0, B_MAX, &lane[i].e), RS_OK);
		assert_int_equal(exec_reserve_training(lane[i].e, GRAPH_LOGIT, ROWS), RS_OK);
		assert_int_equal(pthread_create(&thread[i], NULL, lane_main, &lane[i]), 0);
	}
	for (size_t k = 0; k < TIMES; k++) {
		for (size_t p = 0; p < f.P; p++)
			f.param[p] += 0x1p-6f;
		graph_weights_changed(f.g);
		pthread_barrier_wait(&gate);
		pthread_barrier_wait(&gate);
		bed_forward(&f, 1);
		for (size_t i = 0; i < THREADS; i++)
			assert_memory_equal(lane[i].logit, f.logit, sizeof(lane[i].logit));
	}
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		exec_destroy(lane[i].e);
	}
	pthread_barrier_destroy(&gate);
	bed_close(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounded_training_is_near_to_floats),
		cmocka_unit_test(onednn_of_four_bytes_is_floats),
		cmocka_unit_test(what_does_not_train_is_in_floats),
		cmocka_unit_test(weights_are_rounded_when_they_are_said_to_change),
		cmocka_unit_test(only_wide_layers_of_the_batch_are_narrow),
		cmocka_unit_test(threads_share_the_rounded_weights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
