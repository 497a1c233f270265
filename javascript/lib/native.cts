// The native module: that of the package for this platform, or one that was built beside this package.

/** What the native module exports. */
export interface Native {
  end(host: number): void;
  begin(receive: (request: string) => void): number;
  call(
    host: number,
    handle: number,
    kind: string,
    verb: string,
    input: string,
    call: number,
  ): Promise<string>;
  cancel(host: number, call: number): void;
  reply(number: number, result: string): void;
  release(handle: number): void;
  isOpen(handle: number): boolean;
  version(): string;
}

/** Returns the name of the platform, as the packages have it in their names. */
export function platform(): string {
  const name = `${process.platform}-${process.arch}`;
  if (process.platform !== "linux") return name;
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  return `${name}-${report?.header?.glibcVersionRuntime ? "gnu" : "musl"}`;
}

function load(): Native {
  const tried = [process.env.TREERING_NATIVE, `@treering/${platform()}`, "../treering.node"];
  let last: unknown;
  for (const name of tried) {
    if (!name) continue;
    try {
      return require(name) as Native;
    } catch (error) {
      last ??= error;
    }
  }
  throw new Error(`treering has no native module for ${platform()}: reinstall with optional dependencies`, { cause: last });
}

export const native: Native = load();
