// The native module: that of the package for this platform, or one that was built beside this package.
import { platforms } from "./platform.cjs";

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
  runProgram(command: string, arguments_: string[]): never;
  version(): string;
}

function load(): Native {
  const packages = platforms().map((name) => `@treering/${name}`);
  const tried = [process.env.TREERING_NATIVE, ...packages, "../treering.node"];
  const causes: unknown[] = [];
  for (const name of tried) {
    if (!name) continue;
    try {
      return require(name) as Native;
    } catch (error) {
      causes.push(error);
    }
  }
  const hint = "reinstall with optional dependencies";
  throw new AggregateError(causes, `treering has no native module for ${platforms().join(" or ")}: ${hint}`);
}

export const native: Native = load();
