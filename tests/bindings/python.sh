#!/bin/sh
# Runs a Python script with its arguments. Exit code 77: no python3.
# usage: python.sh SCRIPT ARGUMENT...
command -v python3 >/dev/null 2>&1 || { echo "skipped: python3 not found"; exit 77; }
exec python3 "$@"
