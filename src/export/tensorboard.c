/* Event files of TensorBoard. */
#include "export/tensorboard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/thread.h"
#include "data/tfrecord.h"
#include "export/tf_event.pb-c.h"

#define PENDING_BYTES ((size_t)16 << 20)
#define SESSION_START 1

struct tensorboard {
	int   fd;
	char *path;
	struct buffer pending;             /* whole records                           */
};

static enum rs_status
append_event(struct buffer *out, const TfEvent__Event *event)
{
	const size_t n = tf_event__event__get_packed_size(event);
	uint8_t *bytes;

	RS_TRY(memory_alloc(n, 1, &bytes));
	(void)tf_event__event__pack(event, bytes);
	const enum rs_status status = tfrecord_append(out, bytes, n);
	free(bytes);
	return status;
}

enum rs_status
tensorboard_record(struct buffer *out, double wall_time, const char *tag, int64_t step,
	double value)
{
	TfEvent__Event event = TF_EVENT__EVENT__INIT;
	TfEvent__SessionLog log = TF_EVENT__SESSION_LOG__INIT;
	TfEvent__Summary summary = TF_EVENT__SUMMARY__INIT;
	TfEvent__Value one = TF_EVENT__VALUE__INIT, *const list = &one;

	event.has_wall_time = 1;
	event.wall_time = wall_time;
	event.has_step = step != 0;
	event.step = step;
	if (tag != NULL) {
		one.tag = (char *)(uintptr_t)tag;
		one.has_simple_value = 1;
		one.simple_value = (float)value;
		summary.n_value = 1;
		summary.value = (TfEvent__Value **)(uintptr_t)&list;
		event.summary = &summary;
	} else if (step > 0) {
		log.has_status = 1;
		log.status = SESSION_START;
		event.session_log = &log;
	} else {
		event.file_version = (char *)(uintptr_t)"brain.Event:2";
	}
	return append_event(out, &event);
}

static double
now(void)
{
	return (double)clock_wall_ms() / 1000;
}

enum rs_status
tensorboard_scalar(struct tensorboard *t, const char *tag, int64_t step, double value)
{
	return tensorboard_record(&t->pending, now(), tag, step, value);
}

/* One write, as a rule: readers see whole records, and forgive a last one that is not. */
enum rs_status
tensorboard_flush(struct tensorboard *t)
{
	size_t done = 0;

	while (done < t->pending.n) {
		const ssize_t n = write(t->fd, t->pending.data + done, t->pending.n - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return rs_fail(RS_EIO, "cannot write '%s': %s", t->path, strerror(errno));
		done += (size_t)n;
	}
	t->pending.n = 0;
	return RS_OK;
}

static enum rs_status
has_events(const char *directory, int *out)
{
	DIR *const d = opendir(directory);
	const struct dirent *entry;

	*out = 0;
	if (d == NULL)
		return rs_fail(file_status_of(errno, RS_ECREATE), "cannot read '%s': %s", directory,
			strerror(errno));
	while (!*out && (entry = readdir(d)) != NULL)
		*out = strstr(entry->d_name, "tfevents") != NULL;
	closedir(d);
	return RS_OK;
}

/* A name that sorts after those of before, and is nobody else's. */
static enum rs_status
open_file(struct tensorboard *t, const char *directory)
{
	char host[65] = "host";

	(void)gethostname(host, sizeof host - 1);
	for (int n = 0; t->fd < 0; n++) {
		free(t->path);
		t->path = NULL;
		if (asprintf(&t->path, "%s/events.out.tfevents.%010lld.%s.%ld.%d", directory,
		    (long long)(clock_wall_ms() / 1000), host, (long)getpid(), n) < 0) {
			t->path = NULL;
			return rs_fail(RS_ERESOURCE, "out of memory");
		}
		t->fd = open(t->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
		if (t->fd < 0 && errno != EEXIST)
			return rs_fail(file_status_of(errno, RS_ECREATE), "cannot create '%s': %s",
				t->path, strerror(errno));
	}
	return RS_OK;
}

static enum rs_status
begin_file(struct tensorboard *t, const char *directory, int64_t step)
{
	int goes_on;

	buffer_init(&t->pending, PENDING_BYTES);
	RS_TRY(file_make_directories(directory));
	RS_TRY(has_events(directory, &goes_on));
	RS_TRY(open_file(t, directory));
	RS_TRY(tensorboard_record(&t->pending, now(), NULL, 0, 0));
	if (goes_on)
		RS_TRY(tensorboard_record(&t->pending, now(), NULL, step > 0 ? step : 1, 0));
	return tensorboard_flush(t);
}

enum rs_status
tensorboard_open(const char *directory, int64_t step, struct tensorboard **out)
{
	RS_TRY(memory_alloc(1, sizeof **out, out));
	(*out)->fd = -1;
	const enum rs_status status = begin_file(*out, directory, step);
	if (status != RS_OK) {
		tensorboard_close(*out);
		*out = NULL;
	}
	return status;
}

void
tensorboard_close(struct tensorboard *t)
{
	if (t == NULL)
		return;
	if (t->fd >= 0) {
		(void)tensorboard_flush(t);
		(void)close(t->fd);
	}
	buffer_free(&t->pending);
	free(t->path);
	free(t);
}
