/* `keygen`: a CURVE key pair in files; only its id is shown. */
#include <unistd.h>

#include "base/json.h"
#include "cmd/command.h"
#include "comm/keys.h"

static enum rs_status
print_key(const char *path, const char *id)
{
	struct buffer public_path;
	struct json j;
	enum rs_status status;

	buffer_init(&public_path, 1 << 20);
	json_init(&j);
	status = buffer_printf(&public_path, "%s.pub", path);
	if (status == RS_OK) {
		json_open(&j, NULL, '{');
		json_string(&j, "key_id", id);
		json_string(&j, "file", path);
		json_string(&j, "public_file", public_path.data);
		json_close(&j);
		status = output_printf("%s\n", json_text(&j));
	}
	json_free(&j);
	buffer_free(&public_path);
	return status;
}

static enum rs_status
run_keygen(const struct arguments *a)
{
	struct key_pair k;
	char id[9];

	if (a->n_positional != 1 || a->positional[0][0] == '\0')
		return rs_fail(RS_EUSAGE, "one FILE is wanted, for the key");
	const char *path = a->positional[0];

	if (argument_given(a, "--dry-run")) {
		if (access(path, F_OK) == 0)
			return rs_fail(RS_ECREATE, "'%s' exists", path);
		return output_printf("would write '%s' and '%s.pub'\n", path, path);
	}
	RS_TRY(key_pair_write(path, &k));
	key_id(k.public_key, id);
	key_pair_wipe(&k);
	return command_json(a) ? print_key(path, id) : output_printf("key id %s\n", id);
}

static const struct command_option keygen_option[] = { { .name = NULL } };

const struct command command_keygen = {
	.name = "keygen",
	.synopsis = "FILE",
	.text = "Make a key pair for runs over several hosts.",
	.option = keygen_option,
	.run = run_keygen,
};
