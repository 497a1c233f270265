#!/usr/bin/env node
// Makes the npm packages: `treering`, and one with the native module for a platform, which contains the program.
//
// node pack.mjs --native FILE [--platform NAME] [--out FOLDER]
//
// Without --platform, the module is one of this machine. FOLDER is npm/ without it. Prints the packages with their sizes.
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gunzipSync } from "node:zlib";

const ROOT = fileURLToPath(new URL(".", import.meta.url));
const { platforms } = createRequire(import.meta.url)("./dist/platform.cjs");
/** The platforms of a release: what npm compares before it installs a package. */
const PLATFORMS = {
  "linux-x64-gnu": { os: ["linux"], cpu: ["x64"], libc: ["glibc"] },
  "linux-arm64-gnu": { os: ["linux"], cpu: ["arm64"], libc: ["glibc"] },
  "linux-x64-musl": { os: ["linux"], cpu: ["x64"], libc: ["musl"] },
  "linux-arm64-musl": { os: ["linux"], cpu: ["arm64"], libc: ["musl"] },
  "darwin-x64": { os: ["darwin"], cpu: ["x64"] },
  "darwin-arm64": { os: ["darwin"], cpu: ["arm64"] },
};
const LICENSES = ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE"];

const { values } = parseArgs({
  options: {
    native: { type: "string" },
    platform: { type: "string", default: platforms()[0] },
    out: { type: "string", default: join(ROOT, "npm") },
  },
});
const limits = PLATFORMS[values.platform];
if (!values.native || !limits) {
  console.error(`pack.mjs needs --native FILE and a platform of ${Object.keys(PLATFORMS).join(", ")}`);
  process.exit(2);
}
const out = resolve(values.out);
const own = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const { name, version, description, license, keywords, engines, type, main, types, bin, exports, files } = own;
const { peerDependencies, peerDependenciesMeta } = own;

/** Makes a folder, and packs it. */
function pack(folder, manifest, fill) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const file of LICENSES) copyFileSync(join(ROOT, file), join(folder, file));
  fill(folder);
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  const packed = execFileSync("npm", ["pack", "--json", "--pack-destination", out], { cwd: folder, encoding: "utf8" });
  const [{ filename }] = [JSON.parse(packed)].flat().map((one) => one.filename ? one : Object.values(one)[0]);
  // The zlib of Node compresses less than gzip.
  const file = join(out, filename);
  const best = execFileSync("gzip", ["-9", "-n"], { input: gunzipSync(readFileSync(file)), maxBuffer: 2 ** 30 });
  writeFileSync(file, best);
  console.log(`${file} ${best.length}`);
}

const all = Object.keys(PLATFORMS).map((one) => [`@treering/${one}`, version]);
pack(
  join(out, name),
  {
    name, version, description, license, keywords, engines, type, main, types, bin, exports, files,
    optionalDependencies: Object.fromEntries(all), peerDependencies, peerDependenciesMeta,
  },
  (folder) => {
    for (const part of ["dist", "bin"]) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
    copyFileSync(join(ROOT, "README.md"), join(folder, "README.md"));
  },
);
pack(
  join(out, values.platform),
  {
    name: `@treering/${values.platform}`,
    version,
    description: `${description}: the native module for ${values.platform}`,
    license,
    engines,
    ...limits,
    main: "treering.node",
    files: ["treering.node", ...LICENSES],
  },
  (folder) => {
    copyFileSync(values.native, join(folder, "treering.node"));
    console.log(`native module ${(statSync(values.native).size / 1e6).toFixed(1)} MB`);
  },
);
