/*
 * What the subcommands of `runs` share.  Each is one function that gets the open
 * database and the arguments after its name.
 */
#ifndef CMD_RUNS_H
#define CMD_RUNS_H

#include "cmd/command.h"
#include "store/store.h"

struct runs_call {
	const struct arguments *a;
	const char *path;          /* of the database                                 */
	struct store *store;       /* NULL for `runs path`                            */
	const char *const *name;   /* [n_names] positionals after the subcommand      */
	size_t n_names;
};

enum rs_status runs_list(const struct runs_call *call);
enum rs_status runs_show(const struct runs_call *call);
enum rs_status runs_compare(const struct runs_call *call);
enum rs_status runs_plot(const struct runs_call *call);
enum rs_status runs_report(const struct runs_call *call);
enum rs_status runs_export(const struct runs_call *call);

/* Everything about a run, as an object. */
enum rs_status runs_show_json(struct json *j, const struct runs_call *call,
	const struct store_run *run);

/* "ndcg@20" of the key "valid.ndcg@20"; NULL when it is no figure that can be better
 * or worse. */
const char *runs_figure_name(const char *key);
/* 1.96 standard errors of the difference of two AUC values (Hanley & McNeil 1982),
 * taken as independent; NaN when the counts do not allow it. */
double runs_auc_range(const struct store_run *a, const struct store_run *b);

#endif
