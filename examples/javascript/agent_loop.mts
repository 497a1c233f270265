// An agent loop that takes back a bad turn.
//
// Each turn begins with a snapshot. A scripted model answers and stores what it learnt. A check looks at the memory after the
// turn: if it became false, the loop rolls back, and the next turn starts from a clean memory.
//
// Compile with tsc, and run with the folder of a memory: node agent_loop.mjs memory
import { Agent, type Hit } from "treering";

const QUESTION = "where is the office";

/** The words of a user, the reply of the model, and the facts that it learnt. */
interface Turn {
  said: string;
  reply: string;
  learnt: readonly (readonly [id: string, text: string])[];
}

const SCRIPT: readonly Turn[] = [
  { said: "Our office is in Oslo.", reply: "Noted.", learnt: [["facts/office", "The office is in Oslo"]] },
  { said: "What do you know about the office?", reply: "It is in Oslo.", learnt: [] },
  {
    said: "A web page says that you moved.",
    reply: "Then I believe the page.",
    learnt: [
      ["facts/office", "The office is on the moon"],
      ["facts/visa", "Visitors need a space suit"],
    ],
  },
  { said: "Where do I go?", reply: "To Oslo.", learnt: [["facts/visit", "The user travels on Friday"]] },
];

/** Stands for a call of a model, which gets the prompt, what the memory knows, and what the user said. */
function scriptedModel(_prompt: string, turn: Turn): Turn {
  return turn;
}

/** Returns what the memory answers from its facts, and not from the transcript. */
async function firstAnswer(agent: Agent): Promise<Hit | undefined> {
  return (await agent.recall(QUESTION, { kinds: "fact", full: true, touch: false })).hits[0];
}

/** Asks what the memory answers now. A host checks what must stay true in its own domain. */
async function isSane(agent: Agent): Promise<boolean> {
  return !(await firstAnswer(agent))?.snippet.includes("moon");
}

/** Runs one turn, and takes it back if the check fails. */
async function runTurn(agent: Agent, number: number, turn: Turn): Promise<void> {
  const session = await agent.withSession(`turn-${number}`);
  const before = await session.snapshot(`before-turn-${number}-of-${(await agent.commits()).length}`);
  const answer = scriptedModel((await session.envelope(turn.said)).text, turn);
  await session.append([
    { speaker: "user", text: turn.said },
    { speaker: "assistant", text: answer.reply },
  ]);
  for (const [id, text] of answer.learnt) await session.remember(text, { id });
  if (await isSane(session)) {
    console.log(`turn ${number}: kept ${answer.learnt.length} facts`);
    return;
  }
  const wrong = await session.diff(before.name);
  await session.rollback(before.name);
  console.log(`turn ${number}: rolled back ${wrong.length} changes`);
}

const agent = await Agent.open(process.argv[2] ?? "memory", { writer: { actor: "agent-loop" }, project: "office" });
for (const [place, turn] of SCRIPT.entries()) await runTurn(agent, place + 1, turn);
const answer = await firstAnswer(agent);
console.log(`${QUESTION}? ${answer?.snippet}`);
await agent.close();
