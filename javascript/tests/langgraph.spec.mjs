// The validation of checkpointers that LangGraph publishes. tests/langgraph.test.mjs runs it, by vitest.
import { validate } from "@langchain/langgraph-checkpoint-validation";
import { Memory } from "treering";
import { TreeringSaver } from "treering/langgraph";

validate({
  checkpointerName: "TreeringSaver",
  createCheckpointer: async () => new TreeringSaver(await Memory.inMemory()),
  destroyCheckpointer: (saver) => saver.close(),
});
