#!/usr/bin/env bash
# The GPU tests and the benchmark, on a machine with a CUDA device, with TF32 off.
#
#     tests/gpu/run.sh [python]
#
# The interpreter (python3 unless given) needs CuPy, array-api-compat, typer,
# pytest and pytest-benchmark. Prints at the end what belongs into MEASURED.md.
# Without a device that works it stops with exit code 2 and one line.
set -euo pipefail
python=${1:-python3}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1
# CuPy reads this: TF32 keeps 10 bits after the point of a float32.
export CUPY_TF32=0

"$python" -m boundcheck backend --backend cupy
"$python" -m pytest -q -p no:cacheprovider tests/gpu
"$python" tests/gpu/benchmark.py --backend cupy
