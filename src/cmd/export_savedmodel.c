/* export --to savedmodel: programs of the model as signatures. */
#include "cmd/export_savedmodel.h"

#include <string.h>

#include "base/file.h"
#include "export/savedmodel.h"

static const struct { const char *name; enum graph_output output; }
	signature_table[EXPORT_SAVEDMODEL_MOST] = {
	{ "serving_default", GRAPH_LOGIT }, { "user", GRAPH_USER }, { "item", GRAPH_ITEM },
};

static enum rs_status
write_programs(struct export_savedmodel *x, struct program **program, size_t n)
{
	struct savedmodel_signature signature[EXPORT_SAVEDMODEL_MOST];
	double bytes = (double)SAVEDMODEL_INLINE_BYTES;
	int has_variables;

	RS_TRY(argument_double(x->a, "--inline-bytes", 0, 2e9, &bytes));
	for (size_t i = 0; i < n; i++)
		signature[i] = (struct savedmodel_signature){ signature_table[i].name,
			program[i] };
	RS_TRY(staged_add(x->staged, strrchr(x->path, '/') + 1, &x->made));
	RS_TRY(file_make_directories(x->made));
	RS_TRY(savedmodel_write(signature, n, x->made, (uint64_t)bytes, &has_variables));
	if (command_json(x->a))
		return RS_OK;
	return output_printf("%s   %zu signature%s, tables are %s\n", x->path, n,
		n == 1 ? "" : "s", has_variables ? "variables" : "constants");
}

enum rs_status
export_savedmodel_write(struct export_savedmodel *x)
{
	const struct model *const m = scorer_model(x->scorer);
	const size_t wanted = model_vector_dim(m) == 0 ? 1 : EXPORT_SAVEDMODEL_MOST;
	struct program *program[EXPORT_SAVEDMODEL_MOST];
	enum rs_status status = RS_OK;
	size_t n = 0;

	for (; n < wanted && status == RS_OK; n += status == RS_OK)
		status = program_build(m, signature_table[n].output, &program[n]);
	if (status == RS_OK)
		status = write_programs(x, program, n);
	for (size_t i = 0; i < n; i++)
		program_free(program[i]);
	return status;
}
