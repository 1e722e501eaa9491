#!/bin/sh
# Runs a Python script with its arguments. 77: there is no python3.
# usage: python.sh SCRIPT ARGUMENT...
command -v python3 >/dev/null 2>&1 || { echo "no python3 here, skipped"; exit 77; }
exec python3 "$@"
