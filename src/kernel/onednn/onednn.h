/*
 * oneDNN 2.6 or a later 2.x, loaded when it is first wanted: the library is large, and its
 * absence is a message.  One thread a call, as all of this program.
 *
 * Primitives, packed weights and scratch memory are made when a layer is opened.  To pass
 * arguments on, the library itself takes and frees a few hundred bytes in every call.
 */
#ifndef KERNEL_ONEDNN_ONEDNN_H
#define KERNEL_ONEDNN_ONEDNN_H

#include "base/status.h"
#include "kernel/narrow.h"

/* What multiplies bfloat16 here; RS_ESPEC with the reason when the library is not there, or has
 * no such product for this processor. */
enum rs_status onednn_narrow(const struct narrow_set **out);
/* The same code with operands of four bytes, r(x) = x, which the library has everywhere: for
 * tests where there is no bfloat16. */
enum rs_status onednn_whole(const struct narrow_set **out);
/* What multiplies floats where they are, element 0; everywhere, too. */
enum rs_status onednn_plain(const struct narrow_set **out);
/* "oneDNN 2.6.3"; static text, "" before any of these. */
const char *onednn_version(void);

#endif
