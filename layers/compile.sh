#!/bin/sh
# Compile the Python of a layer. /opt is read-only in Lambda, so without bytecode every cold start compiles all imported
# modules again and takes twice as long.
#
#   compile.sh ARTIFACTS_DIR
#   compile.sh --which      print the Python that it would use
#
# Bytecode is for one minor version of Python (PYTHON_VERSION) and any processor. It is marked "unchecked", because the
# files of a layer never change, so imports need not compare it with its source.
set -eu
folder=$1
version=${PYTHON_VERSION:-3.13}

is_right() { [ "$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$version" ]; }

python=
for candidate in "${LAYER_PYTHON:-}" "python$version" python3 "${HOME:-}/.pyenv/versions/$version".*/bin/python; do
    if [ -n "$candidate" ] && is_right "$candidate"; then python=$candidate; break; fi
done
if [ -z "$python" ]; then
    candidate=$("${UV:-uv}" python find "$version" 2>/dev/null || true)
    if [ -n "$candidate" ] && is_right "$candidate"; then python=$candidate; fi
fi
if [ -z "$python" ] && [ "$folder" = --which ]; then exit 1; fi
if [ -z "$python" ]; then
    echo "No Python $version was found, so the layer is packed without bytecode and cold starts take about twice as long." >&2
    echo "Install it ('uv python install $version'), or name it in LAYER_PYTHON." >&2
    if [ -n "${BATON_REQUIRE_BYTECODE:-}" ]; then exit 1; fi
    exit 0
fi
if [ "$folder" = --which ]; then command -v "$python"; exit 0; fi
# -s and -p: in tracebacks files have the paths that they have in Lambda.
set -- "$folder/python"
if [ -d "$folder/agents" ]; then set -- "$@" "$folder/agents"; fi
"$python" -m compileall -q -j 0 --invalidation-mode unchecked-hash -s "$folder" -p /opt "$@"
if [ -d "$folder/python/baton" ]; then "$python" "$(dirname "$0")/dataclass_methods.py" "$folder/python"; fi
