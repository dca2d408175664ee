/* The memory of rows on their way to and from a GPU. */
#include "embed/device_side.h"

static void
plan_side(struct device_side *s, const struct device_room *room)
{
	size_t end = 0;

	s->room = *room;
	s->source = gpu_cut(&end, (room->given + 1) * sizeof(float *));
	s->grad = gpu_cut(&end, room->got * sizeof(float *));
	s->scale = gpu_cut(&end, room->got * sizeof(float));
	s->plan = (struct gpu_plan){ .bytes = end, .rows = 1, .columns = 1 };
}

size_t
device_side_bytes(const struct gpu_memory *gpu, const struct device_room *room)
{
	struct device_side s;

	plan_side(&s, room);
	return gpu->gpu->size(&s.plan) + (room->given_floats + room->got_floats) * sizeof(float);
}

enum rs_status
device_side_open(struct device_side *s, struct gpu_memory *gpu, size_t place,
	const struct device_room *room)
{
	*s = (struct device_side){ .gpu = gpu, .place = place };
	plan_side(s, room);
	RS_TRY(gpu_memory_open(gpu, place, &s->plan, &s->queue, &s->there));
	RS_TRY(gpu->gpu->host_alloc(s->plan.bytes, &s->here));
	RS_TRY(gpu_memory_alloc(gpu, place, room->given_floats * sizeof(float), &s->given));
	return gpu_memory_alloc(gpu, place, room->got_floats * sizeof(float), &s->got);
}

void
device_side_close(struct device_side *s)
{
	if (s->queue != NULL)
		gpu_memory_close(s->gpu, &s->plan, s->queue);
	if (s->here != NULL)
		s->gpu->gpu->host_free(s->here);
	if (s->given != NULL)
		gpu_memory_free(s->gpu, s->place, s->given,
			s->room.given_floats * sizeof(float));
	if (s->got != NULL)
		gpu_memory_free(s->gpu, s->place, s->got, s->room.got_floats * sizeof(float));
	s->queue = NULL;
	s->here = NULL;
	s->given = s->got = NULL;
	s->room = (struct device_room){ 0 };
}

static void
widen(size_t *room, size_t n)
{
	*room = n > *room ? n + n / 8 : *room;
}

enum rs_status
device_side_reserve(struct device_side *s)
{
	const struct device_room used = s->used;
	struct device_room room = s->room;

	if (used.given <= room.given && used.got <= room.got
	    && used.given_floats <= room.given_floats && used.got_floats <= room.got_floats)
		return RS_OK;
	widen(&room.given, used.given);
	widen(&room.got, used.got);
	widen(&room.given_floats, used.given_floats);
	widen(&room.got_floats, used.got_floats);
	device_side_close(s);
	RS_TRY(device_side_open(s, s->gpu, s->place, &room));
	s->used = used;
	return RS_OK;
}
