// The name of this platform. The program of the package needs it without the native module.

/** Returns the name of the platform, as the packages have it in their names. */
export function platform(): string {
  const name = `${process.platform}-${process.arch}`;
  if (process.platform !== "linux") return name;
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  return `${name}-${report?.header?.glibcVersionRuntime ? "gnu" : "musl"}`;
}
