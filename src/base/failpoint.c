/* Places where a test may hold, end or delay the program. */
#include "base/failpoint.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "base/thread.h"

#define MOST           16
#define POLL_NS        5000000
#define WAIT_LIMIT     600.0           /* seconds                                     */

enum action { ACTION_WAIT, ACTION_KILL, ACTION_EXIT, ACTION_SLEEP };

struct point {
	char        name[48];
	enum action action;
	char        file[PATH_MAX];
	double      number;                /* of exit and sleep                       */
	uint64_t    at;                    /* acts this time; 0: every time           */
	atomic_uint_fast64_t reached;
};

int failpoint_armed;

static struct point point[MOST];
static size_t       n_points;

/* The action after the '='; 0 when it is none. */
static int
parse_action(struct point *p, const char *text, size_t n)
{
	if (n == 4 && memcmp(text, "kill", n) == 0) {
		p->action = ACTION_KILL;
		return 1;
	}
	if (n > 5 && n - 5 < sizeof p->file && memcmp(text, "wait:", 5) == 0) {
		p->action = ACTION_WAIT;
		memcpy(p->file, text + 5, n - 5);
		p->file[n - 5] = '\0';
		return 1;
	}
	if (n > 5 && memcmp(text, "exit:", 5) == 0) {
		p->action = ACTION_EXIT;
		return number_double(text + 5, n - 5, &p->number) && p->number >= 0
			&& p->number < 256;
	}
	p->action = ACTION_SLEEP;
	return n > 6 && memcmp(text, "sleep:", 6) == 0
		&& number_double(text + 6, n - 6, &p->number) && p->number >= 0
		&& p->number <= WAIT_LIMIT;
}

/* NAME[@N]=ACTION */
static int
parse_point(struct point *p, const char *text, size_t n)
{
	const char *const equals = memchr(text, '=', n);
	const size_t before = equals != NULL ? (size_t)(equals - text) : 0;
	const char *const count = equals != NULL ? memchr(text, '@', before) : NULL;
	const size_t name = count != NULL ? (size_t)(count - text) : before;

	memset(p, 0, sizeof *p);
	if (name == 0 || name >= sizeof p->name)
		return 0;
	memcpy(p->name, text, name);
	if (count != NULL && (!number_u64(count + 1, before - name - 1, &p->at) || p->at == 0))
		return 0;
	return parse_action(p, equals + 1, n - before - 1);
}

enum rs_status
failpoint_arm(const char *text)
{
	failpoint_armed = 0;
	n_points = 0;
	while (text != NULL && *text != '\0') {
		const size_t n = strcspn(text, ",");

		if (n_points == MOST)
			return rs_fail(RS_EUSAGE, "more than %d failpoints", MOST);
		if (!parse_point(&point[n_points], text, n)) {
			rs_fail(RS_EUSAGE, "failpoint '%.*s': NAME[@N]= and one of wait:FILE, "
				"kill, exit:N, sleep:S is wanted", (int)n, text);
			return rs_hint("RECSYS_TRAIN_FAILPOINT is for tests");
		}
		n_points++;
		text += n + (text[n] == ',');
	}
	failpoint_armed = n_points > 0;
	return RS_OK;
}

static void
pause_seconds(double seconds)
{
	struct timespec t = { .tv_sec = (time_t)seconds };

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	while (nanosleep(&t, &t) != 0)
		continue;
}

static void
wait_for_file(const struct point *p)
{
	char said[PATH_MAX + 16];
	const double until = clock_seconds() + WAIT_LIMIT;

	snprintf(said, sizeof said, "%s.reached", p->file);
	const int fd = open(said, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd >= 0)
		close(fd);
	while (access(p->file, F_OK) != 0 && clock_seconds() < until)
		pause_seconds(POLL_NS * 1e-9);
}

static void
act(const struct point *p)
{
	switch (p->action) {
	case ACTION_WAIT:
		wait_for_file(p);
		return;
	case ACTION_KILL:
		(void)kill(getpid(), SIGKILL);
		return;
	case ACTION_EXIT:
		_exit((int)p->number);
	case ACTION_SLEEP:
		pause_seconds(p->number);
		return;
	}
}

void
failpoint_reach(const char *name)
{
	for (size_t i = 0; i < n_points; i++) {
		struct point *const p = &point[i];

		if (strcmp(p->name, name) != 0)
			continue;
		const uint64_t time = atomic_fetch_add(&p->reached, 1) + 1;
		if (p->at == 0 || p->at == time)
			act(p);
	}
}
