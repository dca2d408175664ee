/*
 * Made-up click logs with a known truth.
 *
 * A row is a pure function of (seed, row number): any range can be written by any
 * number of threads.  A layout is a row of synth_layouts: its columns, how a row
 * is drawn, and the spec that fits.  The label of a row is drawn from the true
 * probability, so no model can do better than that probability on average.
 */
#ifndef CMD_SYNTH_H
#define CMD_SYNTH_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

#define SYNTH_ROW_MAX 2048                  /* bytes of one row                       */

struct synth_zipf {
	uint64_t n;
	double  *knot;                      /* [SYNTH_KNOTS+1] inverse distribution   */
};

struct synth_world {
	const struct synth_layout *layout;
	uint64_t seed, users, items, hour_rows;
	double   drift;                     /* of what items are worth, in time       */
	char     separator;
	uint64_t key;                       /* of the draws of rows                   */
	struct synth_zipf *zipf;            /* [n_zipf]                               */
	size_t   n_zipf;
	float   *item;                      /* [items,1+SYNTH_FACTORS] bias, factors  */
};

struct synth_row {
	char  *text;                        /* [SYNTH_ROW_MAX]                        */
	size_t n;
	double logit;                       /* of the true probability, NAN: none     */
	int    label;
	int    is_ranked;                   /* 1: rank says how many items the truth  */
	uint64_t rank;                      /* would rather have given                */
};

struct synth_layout {
	const char *name;
	enum rs_status (*open)(struct synth_world *w);
	const char *columns;                /* names, with blanks between; NULL: no header */
	void (*row)(const struct synth_world *w, uint64_t row, struct synth_row *out);
	enum rs_status (*spec)(const struct synth_world *w, const char *file, struct buffer *out);
};

extern const struct synth_layout synth_layout_log, synth_layout_criteo, synth_layout_sequence,
	synth_layout_retrieval;

/* Ids 0..n-1 with probabilities that fall as rank^-exponent. */
enum rs_status synth_zipf_open(struct synth_zipf *z, uint64_t n, double exponent);
uint64_t synth_zipf_draw(const struct synth_zipf *z, uint64_t random);
/* Decimal digits of x at out; returns the byte after them. */
char *synth_digits(char *out, uint64_t x);
/* "i17" for kind 'i'; returns the byte after it. */
char *synth_id(char *out, char kind, uint64_t id);
double synth_dot(const float *p, const float *q, size_t n);
/* The key of a stream of the world; names are private to a layout. */
uint64_t synth_key(const struct synth_world *w, uint64_t name);
/* Buckets for n ids: a power of two with room, so that few ids share one. */
uint64_t synth_buckets(uint64_t n);
/* Appends the label drawn from the logit; u in [0,1). */
int synth_label(double logit, double u);

#endif
