/* What the host at hand offers: memory, cores, what this build has. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/thread.h"
#include "place/placement.h"

#ifdef HAVE_ZMQ
enum { HAS_MESSAGES = 1 };
#else
enum { HAS_MESSAGES = 0 };
#endif

/* The number behind a word in a file of such lines, in `unit` bytes; 0: not there. */
static uint64_t
read_number(const char *path, const char *word, uint64_t unit)
{
	char line[256];
	unsigned long long value = 0;
	FILE *f = fopen(path, "re");

	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, word, strlen(word)) != 0)
			continue;
		if (sscanf(line + strlen(word), "%llu", &value) == 1)
			break;
	}
	(void)fclose(f);
	return value * unit;
}

static uint64_t
smaller(uint64_t a, uint64_t b)
{
	return a == 0 ? b : b == 0 || a < b ? a : b;
}

void
placement_host_here(struct placement_host *out)
{
	const char *why;

	*out = (struct placement_host){
		.n_cores = thread_auto_count(&why), .n_hosts = 1,
		.no_mpi = "not started by mpirun or srun",
		.no_nccl = "this build has no CUDA",
		.has_messages = HAS_MESSAGES,
	};
	out->memory_bytes = smaller(read_number("/proc/meminfo", "MemAvailable:", 1024),
		read_number("/sys/fs/cgroup/memory.max", "", 1));
}
