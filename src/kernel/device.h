/*
 * The GPUs of this machine, or why there is none to use.  device_look() asks the driver the
 * first time, which takes up to a second where there is one; any thread may call it.
 */
#ifndef KERNEL_DEVICE_H
#define KERNEL_DEVICE_H

struct gpu;                     /* kernel/gpu.h                                   */

struct device {
	int  is_compiled;           /* this binary has kernels for GPUs                */
	int  n;                     /* GPUs there are, 0 when none of them can be used */
	char text[160];             /* of the first that can: "NVIDIA H200, 139 GiB"; n == 0:
	                             * why there is none                               */
};

const struct device *device_look(void);
/* They, NULL when there is none. */
const struct gpu *device_gpu(void);

#endif
