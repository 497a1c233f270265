#!/usr/bin/env node
// Runs the program `treering`, which the native module contains.
function load() {
  try {
    return require("../dist/native.cjs").native;
  } catch (error) {
    console.error(error.message);
    return process.exit(1);
  }
}
const native = load();

// Node's handlers of these signals would end the process before the program's own. A listener that comes and goes leaves the
// default of the system.
for (const signal of ["SIGINT", "SIGTERM"]) {
  const none = () => {};
  process.on(signal, none).off(signal, none);
}
// Ends the process. Nothing has touched `process.stdin` and its like, so they block, as the program expects.
native.runProgram(__filename, process.argv.slice(2));
