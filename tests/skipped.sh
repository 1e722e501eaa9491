#!/bin/sh
# Says what the last run of ctest has skipped, and why.
# usage: skipped.sh BUILD
set -eu
log=$1/Testing/Temporary/LastTest.log
[ -f "$log" ] || exit 0
awk '
    /^[0-9]+\/[0-9]+ Testing: / { name = $3 }
    /skipped/ && !/^\[|^"|[(]skipped=/ {
        sub(/^ +/, "")
        if (!any++) print "Skipped:"
        print "  " name ": " $0
    }' "$log"
