#!/bin/sh
# A step of a pipeline that may be run again: it ends within its own time, and the next
# run goes on from what was done.
#
#   sh step.sh "mend the failing test"
#
# STEP_TIME   how long it may take (20m); timeout is of the GNU coreutils
# STEP_WAIT   how much of that it may wait for room (10m)
# STEP_STATE  a file to keep between the runs, beside BELAY_HOME (.belay-step)
#
# The answer is on standard output. The exit code is belay's own, 124 when the time was
# over. Run it again after 69, 75, 124 and 130; after others that does not help.
set -eu
time=${STEP_TIME:-20m}
wait=${STEP_WAIT:-10m}
state=${STEP_STATE:-.belay-step}
answer=$(mktemp)
trap 'rm -f "$answer"' EXIT

code=0
if [ -s "$state" ]; then
	timeout -k 60 "$time" belay resume --json --max-wait "$wait" -o "$answer" "$(cat "$state")" >"$state.jsonl" || code=$?
else
	timeout -k 60 "$time" belay run --json --max-wait "$wait" --approve all -o "$answer" \
		-- "$1" >"$state.jsonl" || code=$?
	sed -n '1s/.*"session":"\([0-9a-z]*\)".*/\1/p' "$state.jsonl" >"$state"
fi
cat "$answer"
exit "$code"
