import type { Mutant } from "./mutant.ts";

/** The floods of docs/threat-model.md: with what stands in the way taken out, the test that its row names fails. */
export const floods: readonly Mutant[] = [
  {
    rule: "attack: where the agent socket is full whoever only sits there makes room",
    file: "src/surfaces/plane/seats.ts",
    text: "  function makeRoom(holder: number | null): boolean {\n",
    becomes: "  function makeRoom(holder: number | null): boolean {\n    if (seats.size > 0) return false;\n",
    tests: ["test/attack-flood.test.ts"],
    title: "3,000 silent connections on the agent socket: agents and operators are served",
  },
  {
    rule: "attack: an approved agent and one that waits make room after strangers",
    file: "src/surfaces/plane/seats.ts",
    text: "  function makeRoom(holder: number | null): boolean {\n",
    becomes:
      "  function makeRoom(holder: number | null): boolean {\n    for (const one of seats) if (holder === null || one.holder === holder) return leave(one), one.drop(), true;\n",
    tests: ["test/attack-flood.test.ts"],
    title:
      "an approved agent and one that waits for a person keep their connections, and gw gets through a full queue, while connections come without end",
  },
  {
    rule: "attack: where the operator socket is full whoever has proven nothing makes room",
    file: "src/surfaces/plane/seats.ts",
    text: [
      "    if (hasShare(holder) && !makeRoom(holder)) return false;",
      "    return seats.size < limits.total || makeRoom(null);",
    ].join("\n"),
    becomes: "    return seats.size < limits.total;",
    tests: ["test/attack-flood.test.ts"],
    title: "400 trickling connections on the operator socket: gw lock and gw unlock still work",
  },
  {
    rule: "attack: no room is made at the operators' door",
    file: "src/surfaces/plane/seats.ts",
    text: "  function makeRoom(holder: number | null): boolean {\n",
    becomes: "  function makeRoom(holder: number | null): boolean {\n    if (seats.size > 0) return false;\n",
    tests: ["test/attack-flood.test.ts"],
    title: "400 trickling connections on the operator socket: gw lock and gw unlock still work",
  },
  {
    rule: "attack: a process has so many places on the operator socket and no more",
    file: "src/programs/daemon/operator-listener.ts",
    text: "(pid) => !seats.hasShare(pid),",
    becomes: "() => true,",
    tests: ["src/programs/daemon/operator-listener.test.ts"],
  },
  {
    rule: "attack: a proven key's connection makes room last",
    file: "src/programs/daemon/operator-listener.ts",
    text: '        seatOf.get(socket)?.stand("approved");\n        options.onOperator',
    becomes: "        options.onOperator",
    tests: ["test/attack-flood.test.ts"],
    title: "a connection on which a key was proven stays, however many more its program opens",
  },
  {
    rule: "attack: all who wait before the operators' door are looked at together",
    file: "src/programs/daemon/operator-listener.ts",
    text: "    if (!resting) emptyQueue();\n",
    becomes: "    void [resting, emptyQueue];\n",
    tests: ["test/attack-flood.test.ts"],
    title:
      "an operator is not served after everybody who came before: of a crowd at the door a process has its places and no more",
  },
  {
    rule: "attack: heads are timed on the agent plane",
    file: "src/programs/daemon/bound-heads.ts",
    text: "    timers.set(socket, setTimeout(() => late(socket), ms).unref());",
    becomes: "    void [late, ms];",
    tests: ["test/attack-flood.test.ts"],
    title: "a head that does not come is answered and closed on both planes",
  },
  {
    rule: "attack: a challenge is remembered once it was answered, and not before",
    file: "src/surfaces/operator/logins.ts",
    text: "      random.bytes(CHALLENGE_BYTES - 8).copy(body, 8);",
    becomes:
      "      random.bytes(CHALLENGE_BYTES - 8).copy(body, 8);\n      if (answered.set(String(answered.size), Number.MAX_SAFE_INTEGER).size > 64) mark.fill(answered.size);",
    tests: ["test/attack-flood.test.ts"],
    title: "thousands of challenges push no operator's own out",
  },
  {
    rule: "attack: whoever a person is asked about makes room after strangers, whoever was approved last",
    file: "src/surfaces/plane/seats.ts",
    text: "return { stranger: 0, waiting: 2, approved: 3 }[standing];",
    becomes: "return 0;",
    tests: ["src/surfaces/plane/seats.test.ts"],
  },
  {
    rule: "attack: of one user the program with most connections makes room",
    file: "src/surfaces/plane/seats.ts",
    text: "const party = row === undefined ? undefined : largest(row.parties.values());",
    becomes: "const party = row === undefined ? undefined : [...row.parties.values()][0];",
    tests: ["src/surfaces/plane/seats.test.ts"],
  },
  {
    rule: "attack: a busy crowd of one program makes room",
    file: "src/surfaces/plane/seats.ts",
    text: 'if (busy) return standing === "approved" || party === "" ? null : CROWD;',
    becomes: "if (busy) return null;",
    tests: ["src/surfaces/plane/seats.test.ts"],
  },
  {
    rule: "attack: an MCP connection that asks nothing is idle",
    file: "src/surfaces/mcp/upgrade.ts",
    text: "  working(false);\n",
    becomes: "",
    tests: ["test/attack-flood.test.ts"],
    title: "a program that sits on more MCP connections than there are places keeps no other program out",
  },
  {
    rule: "attack: large bodies are read for whom a person said yes to alone",
    file: "src/conventions/request/serve.ts",
    text: "const bounded = mostBytes === undefined || principal === undefined;",
    becomes: "const bounded = true;",
    tests: ["test/attack-requests.test.ts"],
    title:
      "more than a small body is read for a run that a person let begin alone, and on the operator socket for whoever logged in",
  },
  {
    rule: "attack: descriptors are kept back for operators and the log",
    file: "src/programs/daemon/doorkeeper.ts",
    text: "return Math.max(16, Math.min(defaults.agentConnections, fit));",
    becomes: "return fit < 0 ? 16 : defaults.agentConnections;",
    tests: ["test/attack-descriptors.test.ts"],
    title: "while as many callers as there is room for sit on the agent socket, the log turns and operators are served",
  },
  {
    rule: "attack: lines of MCP connections take turns",
    file: "src/surfaces/mcp/transport.ts",
    text: "    if (idle) turns.queue(takeTurn);",
    becomes: "    while (idle && takeTurn().more);",
    tests: ["test/attack-flood.test.ts"],
    title: "lines that one MCP connection sends without end and those of another are taken in turns",
  },
];
