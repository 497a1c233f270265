// The package for `import`. There is one copy of the classes, whichever way a program loads it.
export * from "./index.cjs";
