#!/bin/sh
# k8s: manifests that validate against the schemas of Kubernetes.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN

make_spec s.ini
printf '# "quoted" \\ and \ttab\n' >>s.ini
expect 0 "$T" k8s s.ini --pods 3 --name ctr --image 'registry.example/ctr:1.0' \
	-o train.slots=4
cp out all.yaml
for text in 'completionMode: Indexed' 'completions: 3' 'clusterIP: None' 'subdomain: ctr-net' \
	'"registry.example/ctr:1.0"' 'RECSYS_TRAIN_PODS, value: "3"'; do
	grep -qF "$text" all.yaml || { echo "no '$text'" >&2; exit 1; }
done
expect 64 "$T" k8s s.ini --name 'Not_A_Name'
expect 64 "$T" k8s s.ini --memory '8Gi}, x: {y'
# Pods that would have no part of a batch fail when they are there.
expect 78 "$T" k8s s.ini --pods 5 -o train.slots=4
grep -q 'set train.slots to 5 or more' err || { cat err >&2; exit 1; }
expect 78 "$T" k8s s.ini -o train.lerning_rate=1
validate=$BUILDDIR/venv/bin/kubernetes-validate
[ -x "$validate" ] || { echo 'skipped: kubernetes-validate is not installed'; exit 77; }
awk 'BEGIN { n = 0; f = "0.yaml" } /^---$/ { f = ++n ".yaml"; next } { print >f }' all.yaml
for f in 0.yaml 1.yaml 2.yaml; do
	"$validate" --strict -k 1.29 "$f" >check.out 2>&1 || { cat check.out >&2; exit 1; }
done
# The spec comes out of the ConfigMap as it went in.
"$BUILDDIR/venv/bin/python" -c '
import sys, yaml
d = list(yaml.safe_load_all(open("all.yaml")))
assert [x["kind"] for x in d] == ["ConfigMap", "Service", "Job"], d
assert d[0]["data"]["spec.ini"] == open("s.ini").read()' || exit 1
# A manifest that is wrong is not let through.
sed 's/completions: 3/completions: three/' 2.yaml >bad.yaml
"$validate" --strict -k 1.29 bad.yaml >check.out 2>&1 && { echo 'a wrong manifest is valid?' >&2; exit 1; }
echo 'k8s: all as wanted'
