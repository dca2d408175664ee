/*
 * librecsys: scores rows with a model that recsys-train made.
 *
 * A struct recsys is an open model; any number of threads use it at once.  A struct
 * recsys_scorer is what one thread scores with: it belongs to one thread at a time, and is
 * closed before its model.  After the first calls nothing is allocated, as long as no
 * call brings more rows or longer ones than any before it.
 *
 * Every function that can fail returns 0 or a RECSYS_E value, which are the exit codes of
 * recsys-train(1); recsys_error() then says why.  Nothing is printed, nothing exits.
 */
#ifndef RECSYS_H
#define RECSYS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RECSYS_API __attribute__((visibility("default")))

enum recsys_code {
	RECSYS_OK        = 0,
	RECSYS_EPARTIAL  = 3,      /* some rows could not be read: they are NaN       */
	RECSYS_EUSAGE    = 64,     /* an argument that cannot be                      */
	RECSYS_EDATA     = 65,     /* damaged files, or rows whose columns do not fit */
	RECSYS_ENOINPUT  = 66,     /* no such model                                   */
	RECSYS_ERESOURCE = 71,     /* out of memory, threads, mappings or open files  */
	RECSYS_EIO       = 74,     /* reading failed                                  */
	RECSYS_EDENIED   = 77,     /* a file of the model may not be read             */
	RECSYS_ESPEC     = 78      /* the model's spec is of another program version  */
};

struct recsys;
struct recsys_scorer;

/* What the last call of this thread that failed has to say, one line; "" when none did.
 * Valid until the thread's next call. */
RECSYS_API const char *recsys_error(void);

/* Opens a model directory, at the version that CURRENT names, or the directory of one
 * version.  Dense weights are read and compared with their CRC; tables are mapped, and each
 * MiB is compared when a row in it is first wanted. */
RECSYS_API int recsys_open(const char *path, struct recsys **out);
RECSYS_API void recsys_close(struct recsys *model);       /* NULL: nothing            */
RECSYS_API uint64_t recsys_version(struct recsys *model);

/* Opens the version that the path names by now, if it is another one; *changed (may be
 * NULL) is 1 then.  Calls of scorers that are under way end with the version they began
 * with, the next ones use the new one; a version is closed when no scorer uses it any
 * longer.  After a failure the model is as before. */
RECSYS_API int recsys_reload(struct recsys *model, int *changed);

/* What is computed for a row. */
enum recsys_output {
	RECSYS_PREDICTION,         /* 1 / (1 + exp(-logit)); loss = mse: the logit    */
	RECSYS_LOGIT,
	RECSYS_USER,               /* two_tower: the vector of the user's fields,     */
	RECSYS_ITEM                /* or the item's                                   */
};

RECSYS_API int recsys_scorer_open(
	struct recsys *model, enum recsys_output output, struct recsys_scorer **out);
RECSYS_API void recsys_scorer_close(struct recsys_scorer *scorer);   /* NULL: nothing */

/* Numbers of the last call: [n,width] floats, row after row.  Borrowed until the next call
 * with the scorer. */
struct recsys_scores {
	const float *value;
	size_t n, width;
	uint64_t version;          /* that they come from                             */
};

/* Rows of text in the format of the data that the model was trained with, as
 * recsys-train-predict(1) reads them; the last row needs no line end.  The first text a
 * scorer sees says what the columns are: when it begins with a header, that is no row.
 * RECSYS_EPARTIAL: rows that cannot be read are NaN, recsys_error() names the first. */
RECSYS_API int recsys_score_text(struct recsys_scorer *scorer, const char *text, size_t n,
	struct recsys_scores *out);

/* A value of a field, by its name in the spec.  An id is text or a whole number, which is
 * the id that its decimal digits are; a numeric field takes any of the three. */
enum recsys_type { RECSYS_TEXT, RECSYS_INT, RECSYS_NUMBER };
struct recsys_value {
	const char *field;
	enum recsys_type type;
	const char *text;          /* [n_text], without an end                        */
	size_t  n_text;
	int64_t integer;
	double  number;            /* NaN: missing                                    */
};
/* Fields that are not given are missing.  Several values of one field, one behind the
 * other, are the items of a multi or sequence. */
struct recsys_row {
	const struct recsys_value *value;      /* [n]                                 */
	size_t n;
};
/* RECSYS_EUSAGE: a field that the model does not have; RECSYS_EPARTIAL as above. */
RECSYS_API int recsys_score_rows(struct recsys_scorer *scorer, const struct recsys_row *row,
	size_t n, struct recsys_scores *out);

#ifdef __cplusplus
}
#endif

#endif
