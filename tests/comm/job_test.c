/* Tickets through a pipe and a memfd, and what is no ticket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "comm/job.h"

#define KEY "0123456789012345678901234567890123456789"

static struct job
example(void)
{
	struct job j = { .id = UINT64_MAX, .n_workers = 2, .n_ps = 3, .self = 2, .shared_fd = 7,
		.shared_bytes = 1 << 20, .run = 12, .config = 42, .began_ms = 77,
		.local = 1, .n_local = 3 };

	assert_int_equal(RS_OK, job_make_nodes(&j, 1));
	snprintf(j.keys.public_key, sizeof(j.keys.public_key), "%s", KEY);
	snprintf(j.keys.secret_key, sizeof(j.keys.secret_key), "%s", KEY);
	snprintf(j.directory, sizeof(j.directory), "%s", "/tmp/a job");
	snprintf(j.node[0].endpoint, sizeof(j.node[0].endpoint), "%s",
		"ipc:///tmp/a job/coordinator");
	snprintf(j.node[0].public_key, sizeof(j.node[0].public_key), "%s", KEY);
	snprintf(j.node[2].endpoint, sizeof(j.node[2].endpoint), "%s", "tcp://[::1]:7700");
	return j;
}

static void
same(const struct job *a, const struct job *b)
{
	assert_true(a->id == b->id && a->config == b->config && a->run == b->run);
	assert_true(a->began_ms == b->began_ms);
	assert_int_equal(a->n_workers, b->n_workers);
	assert_int_equal(a->n_ps, b->n_ps);
	assert_int_equal(a->n_nodes, b->n_nodes);
	assert_int_equal(a->self, b->self);
	assert_int_equal(a->local, b->local);
	assert_int_equal(a->n_local, b->n_local);
	assert_int_equal(a->shared_fd, b->shared_fd);
	assert_int_equal(a->shared_bytes, b->shared_bytes);
	assert_string_equal(a->directory, b->directory);
	assert_string_equal(a->keys.secret_key, b->keys.secret_key);
	for (size_t i = 0; i < a->n_nodes; i++) {
		assert_int_equal(a->node[i].role, b->node[i].role);
		assert_int_equal(a->node[i].index, b->node[i].index);
		assert_string_equal(a->node[i].endpoint, b->node[i].endpoint);
		assert_string_equal(a->node[i].public_key, b->node[i].public_key);
	}
}

static void
a_ticket_comes_out_as_it_went_in(void **state)
{
	struct job j = example(), got;
	int fd[2];

	(void)state;
	assert_int_equal(0, pipe(fd));
	assert_int_equal(RS_OK, job_write(&j, fd[1]));
	close(fd[1]);
	assert_int_equal(RS_OK, job_read(fd[0], &got));
	close(fd[0]);
	same(&j, &got);
	job_free(&got);
	assert_int_equal('\0', got.keys.secret_key[0]);
	const int memory = memfd_create("ticket", 0);
	j.shared_fd = -1;
	assert_int_equal(RS_OK, job_write(&j, memory));
	assert_int_equal(RS_OK, job_read(memory, &got));
	close(memory);
	same(&j, &got);
	job_free(&got);
	job_free(&j);
}

static void
nodes_have_numbers_and_names(void **state)
{
	struct job j = example();
	char name[32];

	(void)state;
	assert_int_equal(0, job_number(&j, KEY_COORDINATOR, 0));
	assert_int_equal(3, job_number(&j, KEY_PS, 2));
	assert_int_equal(5, job_number(&j, KEY_WORKER, 1));
	assert_int_equal(j.n_nodes, job_number(&j, KEY_WORKER, 2));
	assert_null(job_find(&j, KEY_PS, 3));
	assert_ptr_equal(&j.node[2], job_find(&j, KEY_PS, 1));
	assert_string_equal("coordinator", job_node_name(&j, 0, name));
	assert_string_equal("worker 1", job_node_name(&j, 5, name));
	assert_string_equal("node 99", job_node_name(&j, 99, name));
	job_free(&j);
}

static void
refuse(const char *text, size_t n)
{
	struct job got;
	const int fd = memfd_create("ticket", 0);

	assert_int_equal((ssize_t)n, write(fd, text, n));
	const enum rs_status status = job_read(fd, &got);
	close(fd);
	if (status == RS_OK)
		job_free(&got);
	assert_int_equal(RS_EPROTOCOL, status);
}

/* Cut anywhere, or with any line left out or spoilt, it is refused and nothing worse. */
static void
a_broken_ticket_is_refused(void **state)
{
	struct job j = example();
	const int fd = memfd_create("ticket", 0);
	char text[4096];

	(void)state;
	assert_int_equal(RS_OK, job_write(&j, fd));
	const ssize_t n = pread(fd, text, sizeof(text), 0);
	close(fd);
	assert_true(n > 0 && n < (ssize_t)sizeof(text));
	/* The last line is the number of nodes; without its end it is still whole. */
	for (size_t i = 0; i + 2 < (size_t)n; i += 3)
		refuse(text, i);
	for (char *at = text; at < text + n; at = (char *)memchr(at, '\n', 4096) + 1) {
		const char saved = *at;

		*at = '!';
		/* Descriptors may be missing. */
		if (strncmp(at, "!hared_fd", 9) != 0 && strncmp(at, "!eash_fd", 8) != 0)
			refuse(text, (size_t)n);
		*at = saved;
	}
	refuse("\0\0\0", 3);
	refuse("nodes = 18446744073709551615\nworkers = 4\nshards = 4\n", 51);
	job_free(&j);
}

int
main(void)
{
	const struct CMUnitTest test[] = {
		cmocka_unit_test(a_ticket_comes_out_as_it_went_in),
		cmocka_unit_test(nodes_have_numbers_and_names),
		cmocka_unit_test(a_broken_ticket_is_refused),
	};

	return cmocka_run_group_tests_name("comm/job", test, NULL, NULL);
}
