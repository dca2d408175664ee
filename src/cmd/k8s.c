/* k8s: the manifests of a run as an indexed job of Kubernetes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "cmd/command.h"
#include "train/model.h"

#define SPEC_LIMIT ((size_t)1 << 20)   /* what a ConfigMap holds                      */
#define NAME_LONGEST 52                /* a pod's name is it, '-', and its index      */

struct manifests {
	const struct arguments *a;
	const char *name, *image, *claim, *secret;
	int64_t pods, port, cpus;
	const char *memory;
};

/* Names of objects become names of hosts: RFC 1123. */
static int
is_label(const char *name)
{
	const size_t n = strlen(name);

	if (n == 0 || n > NAME_LONGEST)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const char c = name[i];
		const int inner = c == '-' && i > 0 && i + 1 < n;

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && !inner)
			return 0;
	}
	return name[0] < '0' || name[0] > '9';
}

/* Text as a double-quoted scalar of YAML. */
static enum rs_status
put_quoted(struct buffer *out, const char *text)
{
	RS_TRY(buffer_printf(out, "\""));
	for (; *text != '\0'; text++) {
		const unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			RS_TRY(buffer_printf(out, "\\%c", c));
		else if (c < 0x20)
			RS_TRY(buffer_printf(out, "\\x%02x", c));
		else
			RS_TRY(buffer_append(out, text, 1));
	}
	return buffer_printf(out, "\"");
}

static enum rs_status
put_file(struct buffer *out, const char *path)
{
	char *text;
	size_t n;

	RS_TRY(file_read(path, SPEC_LIMIT, &text, &n));
	const enum rs_status status = put_quoted(out, text);
	free(text);
	return status;
}

/* Layers and values of -o, as the command has them. */
static enum rs_status
put_overrides(struct buffer *out, const struct manifests *m)
{
	const char *value;

	for (size_t i = 0; argument_nth(m->a, "--layer", i) != NULL; i++)
		RS_TRY(buffer_printf(out, "          --layer, /spec/layer-%zu.ini,\n", i));
	for (size_t i = 0; (value = argument_nth(m->a, "--set", i)) != NULL; i++) {
		RS_TRY(buffer_printf(out, "          -o, "));
		RS_TRY(put_quoted(out, value));
		RS_TRY(buffer_printf(out, ",\n"));
	}
	return RS_OK;
}

static enum rs_status
put_spec(struct buffer *out, const struct manifests *m)
{
	const char *path;

	RS_TRY(buffer_printf(out,
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s-spec\ndata:\n"
		"  spec.ini: ", m->name));
	RS_TRY(put_file(out, m->a->n_positional > 0 ? m->a->positional[0] :
		command_environment().spec != NULL ? command_environment().spec : "recsys.ini"));
	for (size_t i = 0; (path = argument_nth(m->a, "--layer", i)) != NULL; i++) {
		RS_TRY(buffer_printf(out, "\n  layer-%zu.ini: ", i));
		RS_TRY(put_file(out, path));
	}
	return buffer_printf(out, "\n---\n");
}

/* Pods find each other before they are ready: they wait for each other to become so. */
static enum rs_status
put_service(struct buffer *out, const struct manifests *m)
{
	return buffer_printf(out,
		"apiVersion: v1\n"
		"kind: Service\n"
		"metadata:\n"
		"  name: %s-net\n"
		"spec:\n"
		"  clusterIP: None\n"
		"  publishNotReadyAddresses: true\n"
		"  selector:\n"
		"    job-name: %s\n"
		"  ports:\n"
		"  - name: coordinator\n"
		"    port: %lld\n"
		"---\n", m->name, m->name, (long long)m->port);
}

static enum rs_status
put_environment(struct buffer *out, const struct manifests *m)
{
	return buffer_printf(out,
		"        env:\n"
		"        - {name: RECSYS_TRAIN_SERVICE, value: %s-net}\n"
		"        - {name: RECSYS_TRAIN_PODS, value: \"%lld\"}\n"
		"        - {name: RECSYS_TRAIN_PORT, value: \"%lld\"}\n"
		"        - name: POD_IP\n"
		"          valueFrom: {fieldRef: {fieldPath: status.podIP}}\n",
		m->name, (long long)m->pods, (long long)m->port);
}

static enum rs_status
put_container(struct buffer *out, const struct manifests *m)
{
	RS_TRY(buffer_printf(out,
		"      containers:\n      - name: recsys-train\n        image: "));
	RS_TRY(put_quoted(out, m->image));
	RS_TRY(buffer_printf(out,
		"\n"
		"        command: [recsys-train, train, /spec/spec.ini, -f, /data/model,\n"));
	RS_TRY(put_overrides(out, m));
	RS_TRY(buffer_printf(out,
		"          --resume, --workers, \"%lld\", --ps, \"%lld\",\n"
		"          -o, cluster.secret=/keys/job.key,\n"
		"          -o, \"cluster.listen=tcp://$(POD_IP):0\"]\n"
		"        workingDir: /data\n", (long long)m->pods, (long long)m->pods));
	RS_TRY(put_environment(out, m));
	return buffer_printf(out,
		"        resources:\n"
		"          requests: {cpu: \"%lld\", memory: %s}\n"
		"          limits: {memory: %s}\n"
		"        volumeMounts:\n"
		"        - {name: spec, mountPath: /spec, readOnly: true}\n"
		"        - {name: keys, mountPath: /keys, readOnly: true}\n"
		"        - {name: work, mountPath: /data}\n",
		(long long)m->cpus, m->memory, m->memory);
}

static enum rs_status
put_job(struct buffer *out, const struct manifests *m)
{
	RS_TRY(buffer_printf(out,
		"apiVersion: batch/v1\n"
		"kind: Job\n"
		"metadata:\n"
		"  name: %s\n"
		"spec:\n"
		"  completionMode: Indexed\n"
		"  completions: %lld\n"
		"  parallelism: %lld\n"
		"  backoffLimit: %lld\n"
		"  template:\n"
		"    spec:\n"
		"      subdomain: %s-net\n"
		"      restartPolicy: OnFailure\n"
		"      terminationGracePeriodSeconds: 60\n",
		m->name, (long long)m->pods, (long long)m->pods, 4 * (long long)m->pods, m->name));
	RS_TRY(put_container(out, m));
	return buffer_printf(out,
		"      volumes:\n"
		"      - name: spec\n"
		"        configMap: {name: %s-spec}\n"
		"      - name: keys\n"
		"        secret: {secretName: %s, defaultMode: 0400}\n"
		"      - name: work\n"
		"        persistentVolumeClaim: {claimName: %s}\n",
		m->name, m->secret, m->claim);
}

static enum rs_status
put_all(struct buffer *out, const struct manifests *m)
{
	RS_TRY(buffer_printf(out,
		"# The key of the job is made once: recsys-train keygen job.key\n"
		"#   kubectl create secret generic %s --from-file=job.key\n"
		"# The claim %s has the data and gets the model; all pods mount it.\n",
		m->secret, m->claim));
	RS_TRY(put_spec(out, m));
	RS_TRY(put_service(out, m));
	return put_job(out, m);
}

static enum rs_status
read_options(const struct arguments *a, struct manifests *m)
{
	static const struct { const char *option; size_t offset; const char *dflt; } text[] = {
		{ "--name", offsetof(struct manifests, name), "recsys-train" },
		{ "--image", offsetof(struct manifests, image), "recsys-train:latest" },
		{ "--claim", offsetof(struct manifests, claim), "recsys-train" },
		{ "--secret", offsetof(struct manifests, secret), "recsys-train-key" },
	};

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		const char *value = argument(a, text[i].option);

		value = value != NULL ? value : text[i].dflt;
		if (i != 1 && !is_label(value)) {
			(void)rs_fail(RS_EUSAGE, "%s '%s' is no name of an object", text[i].option,
				value);
			return rs_hint("lower-case letters, digits and '-', at most %d",
				NAME_LONGEST);
		}
		memcpy((char *)m + text[i].offset, &value, sizeof(value));
	}
	m->memory = argument(a, "--memory") != NULL ? argument(a, "--memory") : "8Gi";
	if (strspn(m->memory, "0123456789.kMGTPi") != strlen(m->memory) || *m->memory == '\0')
		return rs_fail(RS_EUSAGE, "--memory '%s' is no amount like 8Gi", m->memory);
	m->pods = 2;
	m->port = 7700;
	m->cpus = 2;
	RS_TRY(argument_int(a, "--pods", 1, 1024, &m->pods));
	RS_TRY(argument_int(a, "--port", 1, 65535, &m->port));
	return argument_int(a, "--cpus", 1, 1024, &m->cpus);
}

static enum rs_status
k8s_command(const struct arguments *a)
{
	struct manifests m;
	struct buffer text;
	struct spec *spec;
	size_t n_used;

	RS_TRY(read_options(a, &m));
	m.a = a;
	RS_TRY(command_spec(a, NULL, 0, &spec, &n_used));
	const size_t n_slots = model_slots(spec_settings(spec));
	spec_free(spec);                       /* it was checked; pods read the files */
	if ((size_t)m.pods > n_slots) {
		rs_fail(RS_ESPEC, "%lld pods have as many workers, but a batch has %zu slot%s",
			(long long)m.pods, n_slots, n_slots == 1 ? "" : "s");
		return rs_hint("set train.slots to %lld or more, or use at most %zu pod%s",
			(long long)m.pods, n_slots, n_slots == 1 ? "" : "s");
	}
	buffer_init(&text, 8 * SPEC_LIMIT);
	enum rs_status status = put_all(&text, &m);
	if (status == RS_OK)
		status = output_text(text.data, text.n);
	if (status == RS_OK)
		status = output_flush();
	buffer_free(&text);
	return status;
}

static const struct command_option option[] = {
	{ .name = "--pods", .argument = "N", .dflt = "2",
		.text = "Pods; each has a shard and a worker, the first the coordinator, too." },
	{ .name = "--name", .argument = "NAME", .dflt = "recsys-train", .text = "Of the job." },
	{ .name = "--image", .argument = "IMAGE", .dflt = "recsys-train:latest",
		.text = "Image with the program in its path." },
	{ .name = "--claim", .argument = "NAME", .dflt = "recsys-train",
		.text = "Volume claim with the data, for the model; mounted at /data." },
	{ .name = "--secret", .argument = "NAME", .dflt = "recsys-train-key",
		.text = "Secret with job.key, made by keygen." },
	{ .name = "--port", .argument = "N", .dflt = "7700", .text = "Of the coordinator." },
	{ .name = "--cpus", .argument = "N", .dflt = "2", .text = "Cores that a pod asks for." },
	{ .name = "--memory", .argument = "SIZE", .dflt = "8Gi",
		.text = "Memory of a pod; plan says what a run takes." },
	{ .name = NULL },
};

const struct command command_k8s = {
	.name = "k8s",
	.synopsis = "SPEC [--pods N] [--name NAME] [--image IMAGE]",
	.text = "Print a run as an indexed job of Kubernetes.",
	.option = option,
	.run = k8s_command,
};
