/* Key pairs of CURVE, made and checked by libzmq. */
#include <errno.h>
#include <string.h>
#include <zmq.h>

#include "comm/keys_pair.h"

static enum rs_status
no_curve(void)
{
	return errno == ENOTSUP ? rs_fail(RS_EUSAGE, "this ZeroMQ was built without CURVE") :
		rs_fail(RS_ERESOURCE, "cannot make a key: %s", zmq_strerror(errno));
}

enum rs_status
key_pair_make(struct key_pair *out)
{
	*out = (struct key_pair){ { 0 }, { 0 } };
	return zmq_curve_keypair(out->public_key, out->secret_key) == 0 ? RS_OK : no_curve();
}

enum rs_status
key_pair_check(const char *path, const struct key_pair *k)
{
	char public_key[KEY_TEXT];

	if (zmq_curve_public(public_key, k->secret_key) != 0)
		return no_curve();
	if (strcmp(public_key, k->public_key) != 0)
		return rs_fail_at(RS_EDENIED, path, 0, 0, "the two keys are not of one pair");
	return RS_OK;
}
