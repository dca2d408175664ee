/*
 * How the processes of a launcher find each other: over MPI, or by a file that worker 0
 * makes beside the model directory and that all see.
 *
 * What is told is where the coordinator listens, the key of the job, and on one host where
 * the shared memory of the workers is.  MPI is not encrypted: between hosts it carries the
 * key only over a network that cluster.trusted_interface names.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/thread.h"
#include "cmd/launched_private.h"
#include "comm/fields.h"
#include "reduce/mpi.h"

#define TEXT_MAX     ((size_t)64 << 10)
#define LOOK_MS      50
/* After a failure, for the others to read of it, and for worker 0 to write down how the run
 * ended: a launcher kills it as soon as another process ends with a failure. */
#define LAST_SECONDS 5

/* --- MPI ---------------------------------------------------------------------------------- */

/* Why this process does not ask for MPI; NULL: it does. */
static const char *
no_mpi(const struct launched *l)
{
	const enum dense_plane dense = l->node.settings->placement.dense;

	if (l->e.launcher == LAUNCHER_OPENMPI || l->e.launcher == LAUNCHER_PMI)
		return NULL;
	if (l->e.launcher != LAUNCHER_SLURM)
		return "not started by mpirun or srun";
	if (command_variable("PMIX_RANK") == NULL)
		return "started by srun without --mpi=pmix";
	return dense == PLANE_AUTO || dense == PLANE_NCCL || dense == PLANE_MPI ? NULL
		: "not asked for";
}

static enum rs_status
open_mpi(struct launched *l)
{
	const struct cluster_settings *const c = &l->node.settings->cluster;
	const struct mpi_options options = {
		.plugin = command_environment().mpi_plugin,
		.library = l->e.launcher == LAUNCHER_OPENMPI ? "openmpi" :
			l->e.launcher == LAUNCHER_PMI ? "mpich" : NULL,
		.interface = c->trusted_interface, .size = l->e.size, .timeout = c->rendezvous,
	};

	RS_TRY(memory_alloc(l->e.size, sizeof *l->world, &l->world));
	for (size_t i = 0; i < l->e.size; i++)
		l->world[i] = (int)i;
	RS_TRY(mpi_open(&options, &l->node.mpi));
	l->node.world = l->world;
	if (mpi_rank(l->node.mpi) == l->e.rank)
		return RS_OK;
	return rs_fail(RS_EUSAGE, "%s calls this process %zu, MPI calls it %zu", l->e.name,
		l->e.rank, mpi_rank(l->node.mpi));
}

static enum rs_status
describe_self(struct buffer *out)
{
	char name[256] = "";
	char *boot;
	size_t n;

	(void)gethostname(name, sizeof name - 1);
	if (file_read("/proc/sys/kernel/random/boot_id", 256, &boot, &n) != RS_OK)
		return buffer_printf(out, "%s", name);
	const enum rs_status status = buffer_printf(out, "%s/%s", name, boot);
	free(boot);
	return status;
}

/* Ranks of a host need not follow each other. */
static void
count_hosts(struct environment *e, const char *all, const size_t *begin)
{
	size_t n_hosts = 0, host = 0, local_rank = 0, local_size = 0;
	const size_t n_own = begin[e->rank + 1] - begin[e->rank];

	for (size_t i = 0; i < e->size; i++) {
		const size_t n = begin[i + 1] - begin[i];
		size_t k = 0;

		while (k < i && (begin[k + 1] - begin[k] != n
		    || memcmp(all + begin[k], all + begin[i], n) != 0))
			k++;
		const int is_here = n == n_own && memcmp(all + begin[i], all + begin[e->rank], n)
			== 0;
		if (is_here && local_size == 0)
			host = n_hosts;
		local_rank += is_here && i < e->rank;
		local_size += (size_t)is_here;
		n_hosts += k == i;
	}
	e->n_hosts = n_hosts;
	e->host_index = host;
	e->local_rank = local_rank;
	e->local_size = local_size;
}

static enum rs_status
find_hosts(struct launched *l)
{
	struct buffer self, all;
	size_t *begin;

	RS_TRY(memory_alloc(l->e.size + 1, sizeof *begin, &begin));
	buffer_init(&self, TEXT_MAX);
	buffer_init(&all, TEXT_MAX * l->e.size);
	enum rs_status status = describe_self(&self);
	if (status == RS_OK)
		status = mpi_rendezvous(l->node.mpi, self.data, self.n, &all, begin);
	if (status == RS_OK)
		count_hosts(&l->e, all.data, begin);
	buffer_free(&self);
	buffer_free(&all);
	free(begin);
	return status;
}

/* --- the file ---------------------------------------------------------------------------- */

/* Of this start of this job. */
static enum rs_status
name_file(struct launched *l)
{
	const char *const given = argument(l->node.a, "--final");
	const char *const model = given != NULL ? given : l->node.settings->model.path;
	size_t n = strlen(model);

	if (n == 0) {
		rs_fail(RS_EUSAGE, "train: no model directory");
		return rs_hint("give -f DIR or set path in [model]");
	}
	while (n > 1 && model[n - 1] == '/')
		n--;
	size_t base = n;
	while (base > 0 && model[base - 1] != '/')
		base--;
	const int length = snprintf(l->meeting, sizeof l->meeting, "%.*s.%.*s.%016" PRIx64
		"-%" PRIu64 ".job", (int)base, model, (int)(n - base), model + base, l->e.job,
		l->e.restarts);
	return length > 0 && (size_t)length < sizeof l->meeting ? RS_OK :
		rs_fail(RS_EUSAGE, "the name of the model directory is too long");
}

static enum rs_status
make_parent(const char *path)
{
	char *parent;

	if (strchr(path, '/') == NULL)
		return RS_OK;
	RS_TRY(memory_strdup(path, &parent));
	*strrchr(parent, '/') = '\0';
	const enum rs_status status = parent[0] != '\0' ? file_make_directories(parent) : RS_OK;
	free(parent);
	return status;
}

static enum rs_status
write_all(int fd, const char *path, const struct buffer *text)
{
	for (size_t at = 0; at < text->n; ) {
		const ssize_t n = write(fd, text->data + at, text->n - at);

		if (n < 0 && errno != EINTR)
			return rs_fail(RS_EIO, "cannot write '%s': %s", path, strerror(errno));
		at += n > 0 ? (size_t)n : 0;
	}
	return fsync(fd) == 0 ? RS_OK : rs_fail(RS_EIO, "cannot write '%s': %s", path,
		strerror(errno));
}

/* Complete or absent, and ours: nobody can have made it before. */
static enum rs_status
write_file(struct launched *l, const struct buffer *text)
{
	char temporary[sizeof l->meeting + 8];

	RS_TRY(make_parent(l->meeting));
	snprintf(temporary, sizeof temporary, "%s.new", l->meeting);
	const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return rs_fail(file_status_of(errno, RS_ECREATE), "cannot make '%s': %s", temporary,
			strerror(errno));
	enum rs_status status = write_all(fd, temporary, text);
	close(fd);
	if (status == RS_OK && link(temporary, l->meeting) != 0)
		status = rs_fail(RS_ECREATE, "cannot make '%s': %s", l->meeting, strerror(errno));
	l->has_meeting = status == RS_OK;
	(void)unlink(temporary);
	return status;
}

/* *got: it is there. */
static enum rs_status
read_file(const struct launched *l, struct buffer *out, int *got)
{
	struct stat st;
	char *text;
	size_t n;

	*got = 0;
	if (lstat(l->meeting, &st) != 0)
		return RS_OK;
	if (st.st_uid != geteuid() || (st.st_mode & 077) != 0 || !S_ISREG(st.st_mode))
		return rs_fail(RS_EDENIED, "'%s' is not a file of mode 0600 of this user",
			l->meeting);
	RS_TRY(file_read(l->meeting, TEXT_MAX, &text, &n));
	*got = 1;
	const enum rs_status status = buffer_append(out, text, n);
	explicit_bzero(text, n);
	free(text);
	return status;
}

static enum rs_status
await_file(const struct launched *l, struct buffer *out)
{
	const double seconds = l->node.settings->cluster.rendezvous;
	const double until = clock_seconds() + seconds;
	int got = 0;

	for (;;) {
		RS_TRY(read_file(l, out, &got));
		if (got)
			return RS_OK;
		if (command_stop_signal != 0)
			return rs_fail(RS_ESIGNAL, "stopped by signal %d", command_stop_signal);
		if (clock_seconds() >= until)
			break;
		(void)poll(NULL, 0, LOOK_MS);
	}
	rs_fail(RS_EPEER, "worker 0 did not make '%s' within %g s", l->meeting, seconds);
	return rs_hint("the model directory must be on a file system that all hosts share");
}

/* --- what is told ------------------------------------------------------------------------- */

static int
is_trusted(const struct launched *l)
{
	return l->e.n_hosts == 1 || l->node.settings->cluster.trusted_interface[0] != '\0';
}

static enum rs_status
tell(const struct launched *l, struct buffer *out)
{
	const struct job *const job = &l->node.job;

	RS_TRY(fields_put(out, "coordinator", "%s", job->node[0].endpoint));
	if (job->shared_fd >= 0) {
		RS_TRY(fields_put(out, "shared", "/proc/%d/fd/%d", (int)getpid(),
			job->shared_fd));
		RS_TRY(fields_put(out, "shared_bytes", "%" PRIu64, job->shared_bytes));
	}
	if (job->keys.secret_key[0] == '\0' || l->node.settings->cluster.secret[0] != '\0')
		return RS_OK;
	if (l->node.mpi != NULL && !is_trusted(l)) {
		rs_fail(RS_EDENIED, "the key of the job cannot go to the other hosts: MPI does "
			"not encrypt");
		return rs_hint("set cluster.trusted_interface, or cluster.secret to a key file "
			"that all hosts have");
	}
	RS_TRY(fields_put(out, "public", "%s", job->keys.public_key));
	return fields_put(out, "secret", "%s", job->keys.secret_key);
}

/* By its number among the descriptors of worker 0, which is on this host and of this user. */
static enum rs_status
hear_shared(struct launched *l, const struct fields *f)
{
	struct job *const job = &l->node.job;
	const char *value;
	char path[64];
	size_t n;

	if (l->node.placement.carrier != PLANE_SHM || !fields_find(f, "shared", 0, &value, &n))
		return RS_OK;
	RS_TRY(fields_text(f, "shared", path, sizeof path));
	RS_TRY(fields_u64(f, "shared_bytes", &job->shared_bytes));
	l->shared_fd = open(path, O_RDWR | O_CLOEXEC);
	if (l->shared_fd < 0) {
		rs_fail(file_status_of(errno, RS_EPEER),
			"cannot open the shared memory of worker 0: %s", strerror(errno));
		return rs_hint("placement.dense = pushpull does without");
	}
	job->shared_fd = l->shared_fd;
	return RS_OK;
}

static enum rs_status
hear(struct launched *l, const char *text, size_t n)
{
	const struct fields f = { .text = text, .n = n };
	struct job *const job = &l->node.job;
	const char *value;
	size_t length;

	if (l->is_first)
		return RS_OK;
	if (fields_find(&f, "status", 0, &value, &length)) {
		l->is_told = 1;
		return fields_failure(&f, "worker 0");
	}
	RS_TRY(fields_text(&f, "coordinator", job->node[0].endpoint,
		sizeof job->node[0].endpoint));
	if (fields_find(&f, "secret", 0, &value, &length)) {
		RS_TRY(fields_text(&f, "public", job->keys.public_key, KEY_TEXT));
		RS_TRY(fields_text(&f, "secret", job->keys.secret_key, KEY_TEXT));
	}
	return hear_shared(l, &f);
}

static enum rs_status
meet_over_mpi(struct launched *l, const struct buffer *text)
{
	struct buffer all;
	size_t *begin;

	RS_TRY(memory_alloc(l->e.size + 1, sizeof *begin, &begin));
	buffer_init(&all, TEXT_MAX * l->e.size);
	enum rs_status status = mpi_rendezvous(l->node.mpi, text->data, text->n, &all, begin);
	if (status == RS_OK)
		status = hear(l, all.data, begin[1]);
	if (all.n > 0)
		explicit_bzero(all.data, all.n);
	buffer_free(&all);
	free(begin);
	return status;
}

static enum rs_status
meet_by_file(struct launched *l, struct buffer *text)
{
	if (l->is_first)
		return write_file(l, text);
	RS_TRY(await_file(l, text));
	return hear(l, text->data, text->n);
}

/* One key for all, unless there is a list of several. */
static void
spread_key(struct launched *l)
{
	struct job *const job = &l->node.job;

	if (l->node.allowed.n > 0)
		memcpy(job->node[job->self].public_key, job->keys.public_key, KEY_TEXT);
	for (size_t i = 0; l->node.allowed.n == 0 && i < job->n_nodes; i++)
		memcpy(job->node[i].public_key, job->keys.public_key, KEY_TEXT);
}

/* --- the whole ------------------------------------------------------------------------------ */

enum rs_status
launched_meet_hosts(struct launched *l)
{
	const char *const no = no_mpi(l);
	enum rs_status status = RS_OK;

	snprintf(l->no_mpi, sizeof l->no_mpi, "%s", no != NULL ? no : "");
	if (no == NULL)
		status = open_mpi(l);
	if (status != RS_OK && l->node.mpi == NULL && l->e.launcher == LAUNCHER_SLURM
	    && l->node.settings->placement.dense != PLANE_MPI) {
		snprintf(l->no_mpi, sizeof l->no_mpi, "%.300s", rs_failure()->text);
		status = RS_OK;
	}
	if (status == RS_OK && l->node.mpi != NULL)
		status = find_hosts(l);
	RS_TRY(status);
	if (l->node.mpi != NULL && !is_trusted(l))
		snprintf(l->no_mpi, sizeof l->no_mpi, "MPI does not encrypt, and "
			"cluster.trusted_interface names no network between the hosts");
	if (l->node.mpi == NULL && l->e.launcher == LAUNCHER_SLURM)
		RS_TRY(name_file(l));
	l->is_alone = l->e.n_hosts == 1 && (l->node.mpi != NULL || l->meeting[0] != '\0');
	return RS_OK;
}

static enum rs_status
meet(struct launched *l, struct buffer *text)
{
	if (l->node.mpi != NULL)
		return meet_over_mpi(l, text);
	return l->meeting[0] != '\0' ? meet_by_file(l, text) : RS_OK;
}

enum rs_status
launched_meet(struct launched *l, enum rs_status status)
{
	struct rs_failure failure = { .status = RS_OK };
	struct buffer text;

	buffer_init(&text, TEXT_MAX);
	if (l->is_first && status == RS_OK)
		status = tell(l, &text);
	if (status != RS_OK) {
		rs_failure_take(&failure);
		text.n = 0;
		status = fields_put_failure(&text, &failure);
	}
	if (status == RS_OK)
		status = meet(l, &text);
	if (text.n > 0)
		explicit_bzero(text.data, text.n);
	buffer_free(&text);
	if (failure.status != RS_OK) {
		l->has_refused = 1;
		return rs_failure_put(&failure);
	}
	if (status == RS_OK)
		spread_key(l);
	return status;
}

/* A process that ends with a failure does not wait for the end of MPI, which may not come;
 * mpirun then ends the others. */
void
launched_meet_end(struct launched *l, enum rs_status status)
{
	const int in_order = status == RS_OK || status == RS_EPARTIAL || status == RS_ESIGNAL;

	if (l->has_meeting && l->has_refused)
		(void)poll(NULL, 0, LAST_SECONDS * 1000);        /* for the others to read it */
	if (l->has_meeting)
		(void)unlink(l->meeting);
	if (l->shared_fd >= 0)
		close(l->shared_fd);
	if (l->node.mpi == NULL)
		return;
	if (in_order)
		mpi_close(l->node.mpi);
	else if (!l->is_first)
		(void)poll(NULL, 0, LAST_SECONDS * 1000);
}
