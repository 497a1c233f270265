// The names of the packages that may fit to this platform. `pack.mjs` needs them without the native module.
import { existsSync } from "node:fs";

/** Returns the names, the likeliest first. */
export function platforms(): string[] {
  const name = `${process.platform}-${process.arch}`;
  if (process.platform !== "linux") return [name];
  const loader = `/lib/ld-musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
  const names = [`${name}-gnu`, `${name}-musl`];
  return existsSync(loader) ? names.reverse() : names;
}
