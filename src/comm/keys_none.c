/* Keys in a build without ZeroMQ: there are none. */
#include "comm/keys_pair.h"

static enum rs_status
not_built(void)
{
	rs_fail(RS_EUSAGE, "this program was built without ZeroMQ, which keys need");
	return rs_hint("configure it with --with-zmq (Debian: libzmq3-dev)");
}

enum rs_status
key_pair_make(struct key_pair *out)
{
	*out = (struct key_pair){ { 0 }, { 0 } };
	return not_built();
}

enum rs_status
key_pair_check(const char *path, const struct key_pair *k)
{
	(void)path;
	(void)k;
	return not_built();
}
