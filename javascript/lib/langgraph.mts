// A checkpointer and a store for LangGraph.js. Both may share one memory.
export { TreeringSaver, type SaverOptions } from "./langgraph-saver.mjs";
export { TreeringStore, type StoreOptions } from "./langgraph-store.mjs";
