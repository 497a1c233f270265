#!/usr/bin/env bash
# Builds the wheel, installs it into a venv of its own, and runs the tests and the type checkers on it.
# Needs Rust, Python 3.10 or later, and the package registries. The first run installs the tools; later runs are quick.
#
#   python/check.sh            everything
#   python/check.sh --wheel    only build and install the wheel
#   python/check.sh --lints    only the lints of the Rust code, which need no Python package
#   python/check.sh --tests    the rest, on a wheel whose own code is not optimised: compiled in half the time
#   python/check.sh --adapters the adapters whose packages are large (1.2 GB), on the wheel that was built last
set -euo pipefail
cd "$(dirname "$0")"

part=${1:-}
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
venv="${TREERING_PYTHON_VENV:-$CARGO_TARGET_DIR/python-venv}"
bin="$venv/bin"

lints() {
  cargo fmt --check
  cargo clippy --release --locked --all-targets -- -D warnings
}
case $part in
  '' | --wheel | --tests | --adapters) ;;
  --lints) lints; exit 0 ;;
  *) sed -n '2,10p' "$0" >&2; exit 2 ;;
esac

if ! [ -x "$bin/python" ]; then
  "${PYTHON:-python3}" -m venv "$venv"
fi
wheels="$CARGO_TARGET_DIR/wheels"
# CrewAI and Google ADK need other versions of the same packages, so each list has a venv of its own.
check_adapters() {
  local list tests files
  for list in adapters crewai; do
    bin="$venv-$list/bin"
    [ -x "$bin/python" ] || "${PYTHON:-python3}" -m venv "$venv-$list"
    if ! cmp -s "requirements-$list.txt" "$venv-$list/requirements.txt"; then
      "$bin/python" -m pip install --quiet -r "requirements-$list.txt"
      cp "requirements-$list.txt" "$venv-$list/requirements.txt"
    fi
    "$bin/python" -m pip install --quiet --force-reinstall --no-deps "$wheels"/treering-*.whl
    tests=(tests/test_tools.py) files=(treering/crewai.py)
    [ "$list" = crewai ] || {
      tests+=(tests/test_google_adk.py tests/test_llama_index.py)
      files=(treering/google_adk.py treering/llama_index.py treering/pydantic_ai.py)
    }
    "$bin/pytest" "${tests[@]}" tests/test_package.py -k "not stubs"
    "$bin/python" -m mypy --strict --python-version 3.11 "${files[@]}"
  done
}
if [ "$part" = --adapters ]; then
  check_adapters
  exit 0
fi
build_wheel() {
  local options=(--release --locked --quiet) package
  # The model and the dependencies stay optimised: a vector would take a second, and other builds share the rest.
  [ "$part" != --tests ] || for package in treering treering-text treering-program treering-python; do
    options+=(--config "profile.release.package.$package.opt-level=0")
  done
  rm -f "$wheels"/treering-*.whl
  "$bin/maturin" build "${options[@]}" --interpreter "$bin/python" --out "$wheels"
  "$bin/python" -m pip install --quiet --force-reinstall --no-deps "$wheels"/treering-*.whl
}
if [ "$part" = --wheel ]; then
  [ -x "$bin/maturin" ] || "$bin/python" -m pip install --quiet "$(grep '^maturin==' requirements.txt)"
  build_wheel
  echo "installed $(basename "$wheels"/treering-*.whl); use it with $bin/python"
  exit 0
fi
# The tools are installed again only if the list changed.
if ! cmp -s requirements.txt "$venv/requirements.txt"; then
  "$bin/python" -m pip install --quiet -r requirements.txt
  cp requirements.txt "$venv/requirements.txt"
fi

build_wheel
# The classes of the answers are those of the library that was built.
"$bin/python" generate.py --check "$venv"/lib/python3*/site-packages/treering/_treering*.so
[ "$part" = --tests ] || lints
"$bin/pytest" tests
"$bin/python" -m mypy --strict treering ../examples/python bench.py generate.py
"$bin/python" -m pyright --pythonpath "$bin/python" treering ../examples/python bench.py generate.py
