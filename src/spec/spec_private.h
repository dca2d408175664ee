/* Inside of a spec; for the files of spec/ only. */
#ifndef SPEC_SPEC_PRIVATE_H
#define SPEC_SPEC_PRIVATE_H

#include <stddef.h>

#include "spec/ini.h"
#include "spec/option.h"
#include "spec/pool.h"
#include "spec/spec.h"

/* Where a value came from; file NULL: nobody gave it. */
struct spec_place {
	const char *file;
	size_t line, column, value_column;
};

struct spec_origin {
	struct spec_place place;
	unsigned serial;            /* of the text that gave it, to find duplicates    */
};

struct spec_field {
	struct spec_origin *origin; /* [n_rows]                                        */
	struct spec_place place;    /* of its section                                  */
	unsigned serial;
};

struct spec {
	struct settings settings;
	struct pool pool;
	size_t n_rows;
	struct spec_origin *origin; /* [n_rows]                                        */
	struct spec_field *field;   /* [settings.n_fields]                             */
	size_t field_capacity;
	struct spec_problem *problem;
	size_t n_problems, problem_capacity, n_errors;
	unsigned serial;            /* counts the texts read                           */
	int lenient;
	const char *const *model_type;
	const char *(*environment)(const char *name);
};

/* One `key = value` on its way to the settings. */
struct spec_assignment {
	const char *key, *value;
	int append;
	const char *base;           /* directory of relative paths                     */
	unsigned serial;
	struct spec_place place;
};

#define SPEC_NO_FIELD ((size_t)-1)

enum rs_status spec_add_problem(struct spec *spec, int is_error, const struct spec_place *place,
	const char *hint, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* "[SECTION] KEY: ..." at the key, of a section other than [field]: an error. */
enum rs_status spec_key_error(struct spec *spec, const char *section, const char *key,
	const char *hint, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* "[field NAME] KEY: ..." at the key of a field. */
enum rs_status spec_field_problem(struct spec *spec, int is_error, const char *hint, size_t field,
	const char *key, const char *format, ...) __attribute__((format(printf, 6, 7)));
/* The failure just recorded becomes a problem; statuses other than RS_ESPEC pass. */
enum rs_status spec_failure_to_problem(struct spec *spec, const struct spec_place *place,
	const char *prefix);

/* Origin of a key; of field number `field` for rows of section "field". */
struct spec_origin *spec_origin(const struct spec *spec, const struct option_row *row,
	size_t field);
void *spec_base(const struct spec *spec, const struct option_row *row, size_t field);
int spec_given(const struct spec *spec, const char *section, const char *key, size_t field);
/* The place of a key that was given, else of the field's section, else of nothing. */
struct spec_place spec_place(const struct spec *spec, const char *section, const char *key,
	size_t field);

/* Fields.  Numbers of the fields that NAME or the range A..B stands for; those
 * that are new are added when create is set, else they are a problem. */
struct spec_selection { size_t *field, n; };
enum rs_status spec_field_select(struct spec *spec, const char *name, int quoted, int create,
	const struct spec_place *place, struct spec_selection *out);
size_t spec_field_find(const struct spec *spec, const char *name);
/* 1 and the texts of a range "C1..C26"; 0 when it is none. */
enum rs_status spec_field_range(struct pool *pool, const char *text, char ***out, size_t *n);

enum rs_status spec_read_file(struct spec *spec, const char *path);
enum rs_status spec_read_text(struct spec *spec, const char *text, size_t n, const char *file,
	const char *base);
enum rs_status spec_read_set(struct spec *spec, const char *set);
enum rs_status spec_assign(struct spec *spec, const char *section,
	const struct spec_selection *fields,
	const struct spec_assignment *a);

/* Fills what nobody gave from what it inherits. */
void spec_resolve(struct spec *spec);
/* Rules over several keys. */
enum rs_status spec_check_list(struct spec *spec, size_t field);
enum rs_status spec_check_cross(struct spec *spec, size_t field);
enum rs_status spec_check_all(struct spec *spec);
enum rs_status spec_check_items(struct spec *spec);
enum rs_status spec_check_towers(struct spec *spec);
enum rs_status spec_check_din(struct spec *spec);
enum rs_status spec_check_exact(struct spec *spec);
/* Those of [eval] and train.monitor. */
enum rs_status spec_check_eval(struct spec *spec);

#endif
