#!/usr/bin/env node
// Runs the program `treering` of the package for this platform.
const { spawn } = require("node:child_process");
const { existsSync } = require("node:fs");
const { dirname, join } = require("node:path");
const { platforms } = require("../dist/platform.cjs");

/** Returns the path of the program. */
function program() {
  if (process.env.TREERING_PROGRAM) return process.env.TREERING_PROGRAM;
  for (const name of platforms()) {
    try {
      const found = join(dirname(require.resolve(`@treering/${name}/package.json`)), "treering");
      if (existsSync(found)) return found;
    } catch {
      // The message below says what to do.
    }
  }
  console.error(`treering: there is no program for ${platforms().join(" or ")}: reinstall with optional dependencies`);
  return process.exit(1);
}

const child = spawn(program(), process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`treering: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) return process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
