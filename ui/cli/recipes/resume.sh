#!/bin/sh
# No room at the models (75) is not the end: the work is kept, and gone on with later.
#
#   sh resume.sh "add a test for ParseDate"
#
# WAITS  how long to wait before each further try, in seconds (60 300 900)
set -eu
events=$(mktemp)
trap 'rm -f "$events"' EXIT

code=0
belay run --no-wait --approve all -- "$1" 2>"$events" || code=$?
cat "$events" >&2
session=$(sed -n 's/.*belay resume \([0-9a-z]*\).*/\1/p' "$events" | tail -n 1)
for seconds in ${WAITS:-60 300 900}; do
	[ "$code" -eq 75 ] || break
	echo "no room: again in $seconds s" >&2
	sleep "$seconds"
	code=0
	belay resume --no-wait "$session" || code=$?
done
exit "$code"
