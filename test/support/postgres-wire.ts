/** Cuts a stream of the Postgres protocol into its messages, as they come. Whoever speaks first begins with one that has no type. */
export function messagesOf(startup: boolean): (bytes: Buffer) => readonly Message[] {
  let rest = Buffer.alloc(0);
  let typed = !startup;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    const found: Message[] = [];
    for (;;) {
      const head = typed ? 1 : 0;
      if (rest.length < head + 4) return found;
      const end = head + rest.readUInt32BE(head);
      if (rest.length < end) return found;
      const whole = rest.subarray(0, end);
      found.push({ type: typed ? whole.toString("latin1", 0, 1) : "", bytes: whole });
      rest = rest.subarray(end);
      typed = true;
    }
  };
}

export interface Message {
  readonly type: string;
  readonly bytes: Buffer;
}

/** The statement that a client of one connection asks for, where a message names one: by its text, or by the name it had it read under before. */
export function statementsOf(): (message: Message) => string | null {
  const named = new Map<string, string>();
  return ({ type, bytes }) => {
    if (type === "Q") return bytes.toString("utf8", 5);
    if (type !== "P" && type !== "B") return null;
    const end = bytes.indexOf(0, 5);
    const second = bytes.toString("utf8", end + 1, bytes.indexOf(0, end + 1));
    // To bind names the portal first and then the statement.
    if (type === "B") return named.get(second) ?? null;
    const name = bytes.toString("utf8", 5, end);
    if (name !== "") named.set(name, second);
    return second;
  };
}

/** Who logs in, by the first message of a connection. */
export function userOf({ bytes }: Message): string {
  const words = bytes.toString("latin1", 8).split("\0");
  return words[words.indexOf("user") + 1] ?? "";
}

/** A statement as a client sends it whole. */
export function queryOf(statement: string): Buffer {
  const head = Buffer.from("Q\0\0\0\0", "latin1");
  head.writeUInt32BE(4 + Buffer.byteLength(statement) + 1, 1);
  return Buffer.concat([head, Buffer.from(`${statement}\0`, "utf8")]);
}
