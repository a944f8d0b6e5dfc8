/** Programs of a crowd, each run by `node -e` in a process of its own with the path of a socket first. */

/** Opens `count` connections from another process and says nothing, or what it was given. It prints what it holds, and of each whether it was answered or closed without an answer. */
export const HOLDER = `
const { connect } = require("node:net");
const [path, count, text] = [process.argv[1], Number(process.argv[2]), process.argv[3]];
let opened = 0, failed = 0, closed = 0, answered = 0, asked = 0;
const open = () => {
  const socket = connect(path);
  let heard = false;
  socket.on("connect", () => { opened++; if (text) socket.write(text); next(); });
  socket.once("data", () => { heard = true; console.log("answered " + ++answered); });
  socket.on("error", () => { failed++; next(); });
  socket.on("close", () => { if (!heard) console.log("closed " + ++closed); });
};
const next = () => { if (asked < count) { asked++; open(); } else if (opened + failed === count) console.log("held " + opened); };
for (let lane = 0; lane < 32; lane++) next();
setInterval(() => undefined, 1000);`;

/** Connects again as soon as it is let go, and prints how many were taken in and when the queue was full. */
export const CROWD = `
const { connect } = require("node:net");
let taken = 0, full = false;
const open = () => {
  const socket = connect(process.argv[1]);
  socket.on("connect", () => { if (++taken % 100 === 0) console.log("taken " + taken); });
  socket.on("error", (error) => { if (error.code === "EAGAIN" && !full) { full = true; console.log("queue full"); } });
  socket.on("close", () => setTimeout(open, 20));
};
for (let index = 0; index < Number(process.argv[2]); index++) open();`;

/** Asks for a run that nobody decides on, and about it now and then, on one connection. It says when that is closed. */
export const WAITER = `
const http = require("node:http");
const held = require("node:net").connect(process.argv[1]);
held.on("error", () => undefined).on("close", () => console.log("closed"));
const agent = Object.assign(new http.Agent({ keepAlive: true, maxSockets: 1 }), { createConnection: () => held });
const ask = (method, path, body) => {
  const headers = body ? { "content-type": "application/json", "content-length": body.length } : {};
  const request = http.request({ socketPath: "/", agent, method, path, headers }, (answer) => {
    let text = "";
    answer.setEncoding("utf8").on("data", (part) => { text += part; }).on("end", () => {
      console.log("answered " + answer.statusCode);
      setTimeout(ask, 300, "GET", "/v1/runs/" + JSON.parse(text).run_id);
    });
  });
  request.on("error", () => undefined);
  request.end(body);
};
ask("POST", "/v1/runs", JSON.stringify({ purpose: "to wait", actions: ["demo.thing.get"], budget: {} }));`;

const HEAD =
  'const { connect } = require("node:net"); const UP = "GET /mcp HTTP/1.1\\r\\nconnection: upgrade\\r\\nupgrade: gw-mcp\\r\\n\\r\\n";';

/** Writes notifications as fast as they are taken, and says `full` for each connection when they are not. */
export const NOTIFIER = `${HEAD}
const line = JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 1 } }) + "\\n";
for (let index = 0; index < Number(process.argv[2]); index++) {
  const socket = connect(process.argv[1]);
  let told = false;
  const pour = () => { while (socket.write(line.repeat(200))); if (!told) { told = true; console.log("full"); } };
  socket.write(UP);
  socket.once("data", () => { pour(); socket.on("drain", pour); });
  socket.on("error", () => undefined);
}`;

/** Becomes an MCP client on so many connections, and then says nothing. It prints how many were taken. */
export const SITTER = `${HEAD}
let upgraded = 0;
const sit = () => {
  const socket = connect(process.argv[1]);
  socket.write(UP);
  let taken = false;
  const next = () => { if (upgraded < Number(process.argv[2])) sit(); };
  socket.once("data", (part) => {
    taken = String(part).startsWith("HTTP/1.1 101");
    if (taken) console.log("upgraded " + ++upgraded);
    if (taken) next();
  });
  socket.on("error", () => undefined);
  socket.on("close", () => { if (!taken) setTimeout(next, 50); });
};
for (let lane = 0; lane < 16; lane++) sit();`;

/** Asks once on a connection of its own and prints what comes. */
export const PINGER = `${HEAD}
const socket = connect(process.argv[1]);
socket.write(UP);
socket.once("data", () => {
  socket.on("data", (part) => console.log(String(part)));
  const clientInfo = { name: "c", version: "1" };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  socket.write(JSON.stringify({ jsonrpc: "2.0", id: "asked", method: "initialize", params }) + "\\n");
});`;
