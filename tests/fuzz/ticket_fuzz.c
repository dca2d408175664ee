/* The ticket of a node: refused or whole. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "comm/job.h"
#include "tests/fuzz/fuzz.h"

static void
check(const struct job *j)
{
	char name[32];

	FUZZ_CHECK(j->self < j->n_nodes);
	for (size_t i = 0; i < j->n_nodes; i++) {
		const struct job_node *node = &j->node[i];

		FUZZ_CHECK(memchr(node->endpoint, '\0', sizeof(node->endpoint)) != NULL);
		FUZZ_CHECK(memchr(node->public_key, '\0', sizeof(node->public_key)) != NULL);
		FUZZ_CHECK(job_number(j, node->role, node->index) == i);
		FUZZ_CHECK(strlen(job_node_name(j, i, name)) > 0);
	}
	FUZZ_CHECK(memchr(j->keys.secret_key, '\0', KEY_TEXT) != NULL);
	FUZZ_CHECK(memchr(j->directory, '\0', sizeof(j->directory)) != NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static int fd = -1;
	struct job j;

	if (fd < 0)
		fd = memfd_create("ticket", MFD_CLOEXEC);
	FUZZ_CHECK(fd >= 0 && ftruncate(fd, 0) == 0);
	FUZZ_CHECK(pwrite(fd, data, n, 0) == (ssize_t)n);
	const enum rs_status status = job_read(fd, &j);

	FUZZ_CHECK(status == RS_OK || status == RS_EPROTOCOL);
	if (status == RS_OK) {
		check(&j);
		job_free(&j);
	}
	return 0;
}
