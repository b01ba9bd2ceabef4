#!/bin/sh
# A review of what changed since a branch, as JSON that a program can rely on. It reads
# and changes nothing: the change is not trusted.
#
#   belay help recipes review.schema.json > review.schema.json
#   sh review.sh main
#
# The review is in review.json. Exit code: 0 nothing serious, 10 a serious finding, else
# belay's own.
set -eu
base=${1:-main}
git diff "$base...HEAD" >review.diff
if [ ! -s review.diff ]; then
	echo "nothing changed since $base" >&2
	exit 0
fi
belay run --approve ask --max-steps 30 --max-cost 2 \
	--output-schema review.schema.json -o review.json \
	"Review this change: what is wrong with it, where, and how serious it is. -" <review.diff
if grep -q '"severity": *"serious"' review.json; then
	exit 10
fi
