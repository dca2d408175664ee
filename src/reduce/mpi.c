/* Finding, loading, starting and ending MPI. */
#include "reduce/mpi.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "config.h"
#include "reduce/mpi_private.h"

#define PATH_ROOM   4096
#define END_SECONDS 30.0   /* for all processes of the job to come to the end            */

/* The thread in which MPI starts and ends; whoever gives up waiting leaves it behind. */
struct mpi_starter {
	const struct mpi_plugin *plugin;
	void *self;
	pthread_mutex_t lock;
	pthread_cond_t  changed;
	enum { STARTING, STARTED, ENDING, ENDED } state;
	int rank, size, error, left;
};

static const char *const built[] = {
#ifdef HAVE_OPENMPI
	"openmpi",
#endif
#ifdef HAVE_MPICH
	"mpich",
#endif
	NULL
};

const char *
mpi_built(void)
{
	return
#if defined(HAVE_OPENMPI) && defined(HAVE_MPICH)
		"openmpi mpich";
#else
		built[0] != NULL ? built[0] : "";
#endif
}

static void
starter_free(struct mpi_starter *s)
{
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	free(s);
}

/* Tells the other side; whoever comes last frees. */
static void
starter_set(struct mpi_starter *s, int state)
{
	pthread_mutex_lock(&s->lock);
	s->state = state;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void
starter_leave(struct mpi_starter *s)
{
	pthread_mutex_lock(&s->lock);
	const int last = s->left++ > 0;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (last)
		starter_free(s);
}

static void *
starter_run(void *argument)
{
	struct mpi_starter *s = argument;

	s->error = s->plugin->init(s->self, &s->rank, &s->size);
	starter_set(s, STARTED);
	pthread_mutex_lock(&s->lock);
	while (s->state == STARTED && s->left == 0)
		pthread_cond_wait(&s->changed, &s->lock);
	const int ending = s->state == ENDING;
	pthread_mutex_unlock(&s->lock);
	if (ending)
		s->error = s->plugin->finalize(s->self);
	starter_set(s, ENDED);
	starter_leave(s);
	return NULL;
}

/* 0: it did not come to that within the seconds. */
static int
starter_wait(struct mpi_starter *s, int state, double seconds)
{
	struct timespec until;
	int error = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	const double whole = (double)until.tv_nsec * 1e-9 + seconds;
	until.tv_sec += (time_t)whole;
	until.tv_nsec = (long)((whole - (double)(time_t)whole) * 1e9);
	pthread_mutex_lock(&s->lock);
	while ((int)s->state < state && error != ETIMEDOUT)
		error = pthread_cond_timedwait(&s->changed, &s->lock, &until);
	const int come = (int)s->state >= state;
	pthread_mutex_unlock(&s->lock);
	return come;
}

static enum rs_status
mpi_error(const struct mpi_plugin *plugin, void *self, int error, const char *what)
{
	char text[256];

	plugin->error_text(self, error, text, sizeof(text));
	return rs_fail(RS_EPEER, "%s (%s): %s", what, plugin->library, text);
}

static enum rs_status
starter_open(const struct mpi_plugin *plugin, void *self, struct mpi_starter **out)
{
	struct mpi_starter *s;
	pthread_condattr_t attributes;
	pthread_t thread;
	enum rs_status status;

	RS_TRY(memory_alloc(1, sizeof(*s), &s));
	s->plugin = plugin;
	s->self = self;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	status = thread_start(&thread, "mpi", starter_run, s);
	if (status != RS_OK) {
		starter_free(s);
		return status;
	}
	pthread_detach(thread);
	*out = s;
	return RS_OK;
}

static enum rs_status
start(struct mpi *m)
{
	struct mpi_starter *s;

	RS_TRY(starter_open(m->plugin, m->self, &m->starter));
	s = m->starter;
	if (!starter_wait(s, STARTED, m->timeout))
		return rs_fail(RS_EPEER, "MPI (%s) did not start within %g s: some process of "
			"the job is missing", m->plugin->library, m->timeout);
	if (s->error != 0)
		return mpi_error(m->plugin, m->self, s->error, "MPI did not start");
	m->rank = s->rank;
	m->size = s->size;
	return RS_OK;
}

enum rs_status
mpi_wrap(const struct mpi_plugin *plugin, void *self, double timeout, struct mpi **out)
{
	struct mpi *m;
	enum rs_status status;

	RS_TRY(memory_alloc(1, sizeof(*m), &m));
	m->plugin = plugin;
	m->self = self;
	m->timeout = timeout;
	status = start(m);
	if (status != RS_OK) {
		if (m->starter != NULL)
			starter_leave(m->starter);
		free(m);
		return status;
	}
	*out = m;
	return RS_OK;
}

/* The library stays loaded: its threads and exit handlers may still run.  After a failure
 * its end would wait for messages that nobody takes: mpirun then sees a process that left
 * without a word, and ends the others. */
void
mpi_close(struct mpi *m)
{
	if (m == NULL)
		return;
	if (!m->broken) {
		starter_set(m->starter, ENDING);
		(void)starter_wait(m->starter, ENDED,
			m->timeout < END_SECONDS ? m->timeout : END_SECONDS);
	}
	starter_leave(m->starter);
	free(m);
}

void
mpi_abort(struct mpi *m, int exit_code)
{
	m->plugin->abort(m->self, exit_code);
}

size_t
mpi_rank(const struct mpi *m)
{
	return (size_t)m->rank;
}

size_t
mpi_size(const struct mpi *m)
{
	return (size_t)m->size;
}

const char *
mpi_library(const struct mpi *m)
{
	return m->plugin->library;
}

/* Global, because the library loads parts of itself that want its symbols. */
static enum rs_status
plugin_load(const char *path, const struct mpi_plugin **out)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);

	if (library == NULL)
		return rs_fail(RS_EUSAGE, "cannot load the plug-in for MPI: %s", dlerror());
	*out = dlsym(library, MPI_PLUGIN_SYMBOL);
	if (*out == NULL || (*out)->version != MPI_PLUGIN_VERSION)
		return rs_fail(RS_EUSAGE, "'%s' is no plug-in for MPI of this version", path);
	return RS_OK;
}

/* The folder of the running program. */
static void
program_folder(char *out)
{
	const ssize_t n = readlink("/proc/self/exe", out, PATH_ROOM - 1);

	out[n > 0 ? n : 0] = '\0';
	char *slash = strrchr(out, '/');
	if (slash != NULL)
		*slash = '\0';
}

static int
plugin_find(const char *library, char *out)
{
	char folder[PATH_ROOM];
	const char *const place[] = { folder, RS_PKGLIBDIR };

	program_folder(folder);
	for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++) {
		const int n = snprintf(out, PATH_ROOM, "%s/recsys-train-mpi-%s.so", place[i],
			library);

		if (n < PATH_ROOM && access(out, R_OK) == 0)
			return 1;
	}
	return 0;
}

static enum rs_status
plugin_choose(const struct mpi_options *o, const struct mpi_plugin **out)
{
	char path[PATH_ROOM];
	enum rs_status status = RS_OK;
	size_t n_found = 0;

	if (o->plugin != NULL)
		return plugin_load(o->plugin, out);
	for (size_t i = 0; built[i] != NULL; i++) {
		if ((o->library != NULL && strcmp(o->library, built[i]) != 0)
		    || !plugin_find(built[i], path))
			continue;
		n_found++;
		status = plugin_load(path, out);
		if (status == RS_OK)
			return RS_OK;
	}
	if (n_found > 0)
		return status;
	rs_fail(RS_EUSAGE, "there is no plug-in for MPI%s%s in this installation",
		o->library != NULL ? " of the launcher's kind, " : "",
		o->library != NULL ? o->library : "");
	return rs_hint("build with --with-mpi, or say placement.dense = pushpull or shm");
}

/* Both libraries read these when they start; what the user set stays. */
static void
interface_set(const char *name)
{
	static const char *const variable[] = {
		"OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include",
		"FI_TCP_IFACE", "UCX_NET_DEVICES",
	};

	for (size_t i = 0; i < sizeof(variable) / sizeof(variable[0]); i++)
		setenv(variable[i], name, 0);
}

enum rs_status
mpi_open(const struct mpi_options *o, struct mpi **out)
{
	const struct mpi_plugin *plugin = NULL;
	struct mpi *m;

	RS_TRY(plugin_choose(o, &plugin));
	if (o->interface != NULL && *o->interface != '\0')
		interface_set(o->interface);
	RS_TRY(mpi_wrap(plugin, NULL, o->timeout, &m));
	if (o->size != 0 && o->size != mpi_size(m)) {
		const size_t size = mpi_size(m);

		mpi_close(m);
		rs_fail(RS_EUSAGE, "MPI (%s) knows %zu processes, the launcher started %zu",
			plugin->library, size, o->size);
		return rs_hint("mpirun and the plug-in must be of the same MPI library");
	}
	*out = m;
	return RS_OK;
}
