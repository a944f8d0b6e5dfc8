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

/** The statement that a client asks for, where this message names one. */
export function statementOf({ type, bytes }: Message): string | null {
  if (type === "Q") return bytes.toString("utf8", 5);
  if (type !== "P") return null;
  const name = bytes.indexOf(0, 5);
  return bytes.toString("utf8", name + 1, bytes.indexOf(0, name + 1));
}

/** Who logs in, by the first message of a connection. */
export function userOf({ bytes }: Message): string {
  const words = bytes.toString("latin1", 8).split("\0");
  return words[words.indexOf("user") + 1] ?? "";
}
