/*
 * Conditions that a candidate model must meet: "auc>=last-0.005".
 *
 *     METRIC OP BOUND        OP: >= <= > <
 *     BOUND: NUMBER | last[+-NUMBER] | best(N)[+-NUMBER]
 *
 * last: the figure of the current model, on the same rows where they can be scored again;
 * best(N): the best of the last N accepted periods.  A candidate is refused only when the
 * whole 95 % range of its figure (of the difference, for last and best) is on the wrong
 * side, so that noise does not block.  A figure that is not defined meets nothing.
 * Refused is at most one in 40 candidates that are as good as their bound.
 */
#ifndef TRAIN_GATE_H
#define TRAIN_GATE_H

#include <stddef.h>

#include "base/status.h"
#include "spec/settings.h"

enum gate_operator { GATE_GE, GATE_LE, GATE_GT, GATE_LT };
enum gate_bound { GATE_CONSTANT, GATE_LAST, GATE_BEST };

#define GATE_BEST_MAX 1000             /* periods that best(N) may look back          */

struct gate_condition {
	char   metric[32];
	enum gate_operator op;
	enum gate_bound against;
	double offset;                     /* the number of a constant                */
	size_t best_of;                    /* N; 0: not best(N)                       */
	const char *text;                  /* borrowed                                */
};

/* RS_EUSAGE with what is wrong; the metric must be one of spec/figure.h. */
enum rs_status gate_parse(const char *text, struct gate_condition *out);

/* A figure with its variance; NaN variance: exact. */
struct gate_figure { double value, variance; };
/* 1: holds, or noise may be why it does not.  `difference` variance of candidate - bound
 * where both were measured on the same rows, NaN: independent.  A constant needs no bound. */
int gate_holds(const struct gate_condition *c, struct gate_figure candidate,
	struct gate_figure bound, double difference);
/* Half of the 95 % range in standard errors: 1.96, more for best(N), the best of whose N
 * figures is the luckiest of them. */
double gate_quantile(const struct gate_condition *c);

#endif
