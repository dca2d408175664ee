/* What the host at hand offers: memory, cores, what this build has. */
#include <stdio.h>
#include <string.h>

#include "base/thread.h"
#include "place/placement.h"
#include "reduce/plane.h"

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
	const char *const no_mpi = plane_find("mpi")->missing, *why;

	*out = (struct placement_host){
		.n_cores = thread_auto_count(&why), .n_hosts = 1,
		.no_mpi = no_mpi != NULL ? no_mpi : "not started by mpirun or srun",
		.no_nccl = plane_find("nccl")->missing,
		.has_messages = plane_find("pushpull")->missing == NULL,
	};
	out->memory_bytes = smaller(read_number("/proc/meminfo", "MemAvailable:", 1024),
		read_number("/sys/fs/cgroup/memory.max", "", 1));
}
