/*
 * A spec: INI text, run layers and -o overrides, resolved into settings.
 *
 * spec_load() reads every layer, reports every error at once (each as one line
 * on stderr through spec_problem rows) and returns RS_ESPEC if there was one.
 * spec_print() writes the resolved spec in the same dialect; reading it back
 * gives equal settings, so a model directory needs nothing else.  A struct spec
 * owns all strings of its settings.  Paths in data.* and model.path are relative
 * to the directory of the file that gave them (-o: to the working directory)
 * and are resolved here (relative to the working directory; printed absolute);
 * ${NAME} expands in path values only.
 */
#ifndef SPEC_SPEC_H
#define SPEC_SPEC_H

#include "base/memory.h"
#include "base/status.h"
#include "spec/settings.h"

struct spec_layer { const char *path; };   /* later layers override earlier ones */

struct spec_input {
	const char *const *layer;      /* [n_layers] paths of INI files              */
	size_t             n_layers;
	const char *const *set;        /* [n_sets] "section.key=value" or "field NAME.key=value" */
	size_t             n_sets;
	int                lenient;    /* unknown keys warn                          */
	const char *const *model_type; /* known models, ends with NULL; NULL: any    */
	const char *(*environment)(const char *name);   /* for ${NAME}; NULL: none   */
};

struct spec_problem {
	int    is_error;               /* else a warning                             */
	char  *file;                   /* "command line" for -o                      */
	size_t line, column;
	char  *text, *hint;            /* hint may be NULL                           */
};

struct spec;

/* *out is set also when RS_ESPEC is returned, to list its problems.  A file
 * that is missing is RS_ENOINPUT. */
enum rs_status spec_load(const struct spec_input *input, struct spec **out);
enum rs_status spec_load_text(const char *text, const char *name, struct spec **out);
void spec_free(struct spec *spec);

const struct settings *spec_settings(const struct spec *spec);
size_t spec_n_problems(const struct spec *spec);
const struct spec_problem *spec_problem(const struct spec *spec, size_t i);

/* Sets one value after loading, with the checks of the file (for instance the
 * statistics of a first pass: "field I1", "mean", "3.25"). */
enum rs_status spec_set(struct spec *spec, const char *section, const char *key, const char *value);

/* Appends the resolved spec.  with_origin: the listing of check --show-origin. */
enum rs_status spec_print(const struct spec *spec, int with_origin, struct buffer *out);

/* 1 when training rows come from a command or standard input, so only once. */
int spec_reads_a_stream(const struct data_settings *data);

/* The nearest of n names by edit distance, NULL if none is near. */
const char *spec_nearest(const char *name, const char *const *names, size_t n);

#endif
