// A memory for the Vercel AI SDK: tools for a model, and a middleware that tells the model what the memory knows.
import { jsonSchema, type LanguageModelMiddleware, tool, type ToolSet } from "ai";
import { type Agent, NotFoundError } from "./index.cjs";

/** The options of the middleware. */
export interface MemoryMiddlewareOptions {
  /** The most tokens of what the memory tells. 2000 without it. */
  budget?: number;
  /** The session whose transcript gets the messages. Without it, no message is stored. */
  session?: string;
  /** Whether untrusted items are told, too. */
  withUntrusted?: boolean;
}

/** The options of the tools. */
export interface MemoryToolsOptions {
  /** The most hits of a recall. 5 without it. */
  limit?: number;
  /** The class of trust of what the model stores. That of the agent's writer without it. */
  trust?: "model" | "untrusted";
}

/**
 * Returns tools by which a model remembers, recalls and forgets. Each call of a tool is one commit, so `undo` of the agent
 * takes it back.
 */
export function memoryTools(agent: Agent, options: MemoryToolsOptions = {}): ToolSet {
  const limit = options.limit ?? 5;
  return {
    remember: tool({
      description: "Stores one fact for later conversations. Write one whole sentence that needs no context.",
      inputSchema: inputOf({ text: { type: "string" }, tags: { type: "array", items: { type: "string" } } }, ["text"]),
      execute: async (input, { abortSignal: signal }) => {
        const { text, tags } = input as { text: string; tags?: string[] };
        const { id, status } = await agent.remember(text, { tags, trust: options.trust, signal });
        return { id, status };
      },
    }),
    recall: tool({
      description: "Finds stored facts that answer a question. Use it before you say that you do not know something.",
      inputSchema: inputOf({ question: { type: "string" } }, ["question"]),
      execute: async (input, { abortSignal: signal }) => {
        const { hits } = await agent.recall((input as { question: string }).question, { limit, signal });
        return hits.map(({ id, snippet, time, trust }) => ({ id, text: snippet, time, trust }));
      },
    }),
    forget: tool({
      description: "Takes a stored fact away, by its id. It can be brought back.",
      inputSchema: inputOf({ id: { type: "string" } }, ["id"]),
      execute: async (input, { abortSignal: signal }) => {
        try {
          const { items } = await agent.forget((input as { id: string }).id, { signal });
          return { forgotten: items.map((item) => item.id) };
        } catch (error) {
          if (error instanceof NotFoundError) return { forgotten: [] };
          throw error;
        }
      },
    }),
  };
}

function inputOf(properties: Record<string, object>, required: string[]) {
  return jsonSchema({ type: "object", properties, required, additionalProperties: false } as never);
}

type Messages = readonly { role: string; content: unknown }[];

/**
 * Returns a middleware for `wrapLanguageModel`. Before a call, it adds what the memory knows about the last message of the
 * user, as a message before it. After the call, it appends the message and the answer to the transcript of the `session`.
 */
export function memoryMiddleware(agent: Agent, options: MemoryMiddlewareOptions = {}): LanguageModelMiddleware {
  const remembered = async (prompt: Messages, answer: string) => {
    // In a later step of a tool loop, the message of the user is stored already.
    const question = textIn(prompt.at(-1));
    const entries = question ? [{ speaker: "user", text: question }] : [];
    if (answer) entries.push({ speaker: "assistant", text: answer });
    if (options.session !== undefined && entries.length > 0) await agent.append(entries, { session: options.session });
  };
  return {
    specificationVersion: "v3",
    async transformParams({ params }) {
      const last = params.prompt.findLastIndex((message) => message.role === "user");
      const query = textIn((params.prompt as Messages)[last]);
      if (!query) return params;
      const { text } = await agent.envelope(query, {
        budget: options.budget ?? 2000,
        with_untrusted: options.withUntrusted,
        signal: params.abortSignal,
      });
      if (text === "") return params;
      // Never in the role of the system: stored texts are no instructions.
      const prompt = params.prompt.toSpliced(last, 0, { role: "user", content: [{ type: "text", text }] });
      return { ...params, prompt };
    },
    async wrapGenerate({ doGenerate, params }) {
      const done = await doGenerate();
      await remembered(params.prompt, done.content.map((part) => (part.type === "text" ? part.text : "")).join(""));
      return done;
    },
    async wrapStream({ doStream, params }) {
      const done = await doStream();
      let answer = "";
      const seen = new TransformStream<Part<typeof done.stream>, Part<typeof done.stream>>({
        transform(part, controller) {
          if (part.type === "text-delta") answer += part.delta;
          controller.enqueue(part);
        },
        flush: () => remembered(params.prompt, answer),
      });
      return { ...done, stream: done.stream.pipeThrough(seen) };
    },
  };
}

type Part<S> = S extends ReadableStream<infer T> ? T : never;

/** Returns the text of a message of the user. Other messages have none. */
function textIn(message: Messages[number] | undefined): string {
  if (message?.role !== "user") return "";
  if (typeof message.content === "string") return message.content;
  const parts = Array.isArray(message.content) ? (message.content as { text?: string }[]) : [];
  return parts.flatMap((part) => part.text ?? []).join("\n");
}
