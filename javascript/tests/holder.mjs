// A process that writes, and so holds the lock of a store until its input ends.
import { Memory } from "treering";

const memory = await Memory.open(process.argv[2], { create: true, exclusive: true });
await memory.put("held");
process.stdout.write("held\n");
process.stdin.resume();
process.stdin.on("end", () => memory.close());
