#!/usr/bin/env bash
# Builds the wheel, installs it into a venv of its own, and runs the tests and the type checkers on it.
# Needs Rust, Python 3.10 or later, and the package registries. The first run installs the tools; later runs are quick.
#
#   python/check.sh            everything
#   python/check.sh --wheel    only build and install the wheel
set -euo pipefail
cd "$(dirname "$0")"

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
venv="${TREERING_PYTHON_VENV:-$CARGO_TARGET_DIR/python-venv}"
bin="$venv/bin"

if ! [ -x "$bin/python" ]; then
  "${PYTHON:-python3}" -m venv "$venv"
fi
wheels="$CARGO_TARGET_DIR/wheels"
build_wheel() {
  rm -f "$wheels"/treering-*.whl
  "$bin/maturin" build --release --locked --quiet --interpreter "$bin/python" --out "$wheels"
  "$bin/python" -m pip install --quiet --force-reinstall --no-deps "$wheels"/treering-*.whl
}
if [ "${1:-}" = --wheel ]; then
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
cargo fmt --check
cargo clippy --release --locked --all-targets -- -D warnings
"$bin/pytest" tests
"$bin/python" -m mypy --strict treering ../examples/python bench.py generate.py
"$bin/python" -m pyright --pythonpath "$bin/python" treering ../examples/python bench.py generate.py
