/* Progressive loss and the progress table. */
#include "train/report.h"

#include <math.h>
#include <string.h>

#include "base/thread.h"

void
report_begin(struct report *r, const struct train_options *options, uint64_t total_rows)
{
	memset(r, 0, sizeof *r);
	r->step = options->progress_step;
	r->multiplies = options->progress_multiplies;
	r->next = r->multiplies ? 1 : r->step;
	r->total_rows = total_rows;
	r->started = r->last_time = clock_seconds();
	r->callback = options->callbacks.progress;
	r->context = options->callbacks.context;
}

/* The table's next row is after those that were seen. */
static void
pass(struct report *r)
{
	while (r->next <= (double)r->rows)
		r->next = r->multiplies ? r->next * r->step : r->next + r->step;
}

void
report_pause(const struct report *r, struct report *out)
{
	*out = *r;
	out->last_time = clock_seconds() - r->last_time;
	out->started = clock_seconds() - r->started;
	out->callback = NULL;
	out->context = NULL;
}

void
report_go_on(struct report *r, const struct report *paused)
{
	const struct report began = *r;

	*r = *paused;
	r->step = began.step;
	r->multiplies = began.multiplies;
	r->started = began.started - paused->started;
	r->last_time = began.last_time - paused->last_time;
	r->callback = began.callback;
	r->context = began.context;
	if (paused->step <= 0) {                      /* nobody saw rows there       */
		r->next = began.next;
		r->last = (struct report_sums){ 0 };
		r->last_rows = r->rows;
		r->last_time = began.last_time;
		r->last_wait = r->wait;
	}
	if (r->step > 0)
		pass(r);
}

void
report_begin_epoch(struct report *r)
{
	memset(&r->epoch, 0, sizeof r->epoch);
}

void
report_wait(struct report *r, double seconds)
{
	r->wait += seconds;
}

static void
add_sums(struct report_sums *s, const struct step_result *result)
{
	s->loss += result->loss;
	s->weight += result->weight;
	s->label += result->label;
	s->prediction += result->prediction;
}

static double
mean(double sum, double weight)
{
	return weight > 0 ? sum / weight : NAN;
}

double
report_epoch_label(const struct report *r)
{
	return mean(r->epoch.label, r->epoch.weight);
}

double
report_epoch_loss(const struct report *r)
{
	return mean(r->epoch.loss, r->epoch.weight);
}

double
report_run_loss(const struct report *r)
{
	return mean(r->run.loss, r->run.weight);
}

static void
call_back(struct report *r, uint64_t epoch, uint64_t step, double rate)
{
	const double now = clock_seconds(), elapsed = now - r->last_time, total = now - r->started;
	const double speed = elapsed > 0 ? (double)(r->rows - r->last_rows) / elapsed : NAN;
	const double overall = total > 0 ? (double)r->rows / total : NAN;
	const uint64_t rest = r->total_rows > r->rows ? r->total_rows - r->rows : 0;
	const struct train_progress p = {
		.epoch = epoch, .rows = r->rows, .total_rows = r->total_rows, .step = step,
		.loss = report_epoch_loss(r), .loss_since_last = mean(r->last.loss, r->last.weight),
		.label_mean = mean(r->last.label, r->last.weight),
		.prediction_mean = mean(r->last.prediction, r->last.weight),
		.learning_rate = rate, .rows_per_s = speed,
		.wait_share = elapsed > 0 ? (r->wait - r->last_wait) / elapsed : 0,
		.eta_s = r->total_rows > 0 ? (double)rest / overall : NAN,
	};

	r->callback(r->context, &p);
	memset(&r->last, 0, sizeof r->last);
	r->last_time = now;
	r->last_rows = r->rows;
	r->last_wait = r->wait;
}

void
report_step(struct report *r, const struct step_result *result, uint64_t epoch, uint64_t step,
	double rate)
{
	add_sums(&r->run, result);
	add_sums(&r->epoch, result);
	add_sums(&r->last, result);
	r->rows += (uint64_t)result->rows;
	if (r->callback == NULL || r->step <= 0 || (double)r->rows < r->next)
		return;
	call_back(r, epoch, step, rate);
	pass(r);
}
