// ioredis writes known keys while the servers' leaders change, and tells what was acknowledged.
//
// Usage: node writer.mjs plain|cluster NAME HOST:PORT… (what is said: README.md, "writers"). RUVIO_NODE_MODULES
// names the folder that `make setup` has put the library into.

import { createRequire } from "node:module";
import path from "node:path";
import readline from "node:readline";

const load = createRequire(path.join(process.env.RUVIO_NODE_MODULES, "anchor.js"));
const { Cluster, Redis } = load("ioredis");

const WORKERS = 4;
const PAUSE_MS = 2;

let phase = "start";
let ends = false;
const say = (...words) => process.stdout.write(words.join(" ") + "\n");
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

function connect(kind, doors) {
  const nodes = doors.map((door) => {
    const [host, port] = door.split(":");
    return { host, port: Number(port) };
  });
  // An error of a connection is told by the commands that it concerns.
  const client =
    kind === "cluster"
      ? new Cluster(nodes, { redisOptions: { commandTimeout: 20000 } })
      : new Redis({ ...nodes[0], commandTimeout: 60000 });
  client.on("error", () => {});
  return client;
}

/// The reply, or null: then it is told what went wrong.
async function attempt(client, ...words) {
  try {
    return await client.call(...words);
  } catch (error) {
    say("failed", phase, words[0], String(error.message).replaceAll("\n", " "));
    return null;
  }
}

async function write(client, name, worker, hasBegun) {
  const told = { tried: 0, lost: [], counted: 0, uncounted: 0 };
  while (!ends) {
    const number = told.tried++;
    const key = `${name}:${worker}:${number}`;
    if ((await attempt(client, "SET", key, number)) === null) {
      told.lost.push(number);
    } else {
      const found = await attempt(client, "GET", key);
      if (found !== null && Number(found) !== number) say("wrong", key, found);
    }
    const count = await attempt(client, "INCR", `${name}:count:${worker}`);
    count === null ? told.uncounted++ : told.counted++;
    hasBegun();
    await sleep(PAUSE_MS);
  }
  return told;
}

const [kind, name, ...doors] = process.argv.slice(2);
const client = connect(kind, doors);
const begun = [];
const workers = [];
for (let number = 0; number < WORKERS; number++) {
  begun.push(new Promise((done) => workers.push(write(client, name, number, done))));
}
await Promise.all(begun);
say("ready");
for await (const line of readline.createInterface({ input: process.stdin })) {
  phase = line.trim();
  say("phase", phase);
}
ends = true;
for (const [number, worker] of workers.entries()) {
  const { tried, lost, counted, uncounted } = await worker;
  say("set", number, tried, lost.join(",") || "-");
  say("count", number, counted, uncounted);
}
say("done");
client.disconnect();
