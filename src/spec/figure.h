/*
 * The names of the figures that an evaluation gives: "auc", "ndcg@20".
 *
 * One table says of each what better is, whether it has a cut-off K and what it
 * needs.  The spec, eval, the run database and the monitor of training all take
 * their names from here; the formulas are in train/metric.h and train/ranking.h.
 */
#ifndef SPEC_FIGURE_H
#define SPEC_FIGURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "spec/settings.h"

#define FIGURE_MAX   24        /* figures of one evaluation                       */
#define FIGURE_NAME  28
#define FIGURE_K_MAX 1000000

enum figure_cut { CUT_NONE, CUT_MAY, CUT_MUST };       /* "@K" behind the name    */

/* kind, name, better (1 higher, -1 lower, 0 neither), cut-off, needs groups,
 * needs rows of both classes, is of predicted probabilities */
#define FIGURE_TABLE(ROW) \
	ROW(AUC,                "auc",                 1, CUT_NONE, 0, 1, 1) \
	ROW(LOGLOSS,            "logloss",            -1, CUT_NONE, 0, 0, 1) \
	ROW(MSE,                "mse",                -1, CUT_NONE, 0, 0, 0) \
	ROW(GAUC,               "gauc",                1, CUT_NONE, 1, 1, 1) \
	ROW(HR,                 "hr",                  1, CUT_MUST, 1, 0, 0) \
	ROW(NDCG,               "ndcg",                1, CUT_MAY,  1, 0, 0) \
	ROW(MRR,                "mrr",                 1, CUT_MAY,  1, 0, 0) \
	ROW(RECALL,             "recall",              1, CUT_MUST, 1, 0, 0) \
	ROW(CALIBRATION,        "calibration",         0, CUT_NONE, 0, 0, 0) \
	ROW(MEAN_LABEL,         "mean_label",          0, CUT_NONE, 0, 0, 0) \
	ROW(MEAN_PREDICTION,    "mean_prediction",     0, CUT_NONE, 0, 0, 0) \
	ROW(BEST_CONSTANT,      "best_constant",       0, CUT_NONE, 0, 0, 0) \
	ROW(BEST_CONSTANT_LOSS, "best_constant_loss",  0, CUT_NONE, 0, 0, 0)

enum figure_kind {
#define ROW(kind, name, better, cut, grouped, classes, probability) FIGURE_##kind,
	FIGURE_TABLE(ROW)
#undef ROW
	N_FIGURES
};

struct figure {
	enum figure_kind kind;
	uint32_t k;                /* 0: none                                         */
	char     name[FIGURE_NAME];
};

struct figure_list {
	size_t n;
	struct figure item[FIGURE_MAX];
};

/* A failure has the status `failure` and a hint with the nearest name. */
enum rs_status figure_parse(
	const char *text, size_t n, enum rs_status failure, struct figure *out);
int figure_better(const struct figure *f);         /* 1 higher, -1 lower, 0 neither */
int figure_needs_groups(const struct figure *f);
int figure_needs_classes(const struct figure *f);
int figure_needs_probabilities(const struct figure *f);
/* 1: of a rank within the group (hr ndcg mrr recall). */
int figure_is_rank(const struct figure *f);

/* Index in the list, list->n when it is not there. */
size_t figure_find(const struct figure_list *list, const char *name);
/* Adds what is not there yet; RS_ESPEC when the list is full. */
enum rs_status figure_add(struct figure_list *list, const struct figure *f);
int figure_list_needs_classes(const struct figure_list *list);
/* What eval.metrics asks for, by default what fits the loss, and the monitor.
 * Names that are none are left out: spec_check tells them. */
void figure_list_of(const struct settings *s, struct figure_list *out);
/* The monitored one: train.monitor, with loss = mse never one of probabilities. */
void figure_monitor(const struct settings *s, struct figure *out);

#endif
