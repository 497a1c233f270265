// The package `treering`: the memory of a long-running AI agent, with undo.
import { native } from "./native.cjs";

export type { CallOptions } from "./calls.cjs";
export * from "./errors.cjs";
export * from "./generated.cjs";
export * from "./handles.cjs";
/** The version of the package. */
export const version: string = native.version();
