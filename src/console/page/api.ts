/** The page's only way out: the console program that served it. The key lives in this variable and nowhere else. */
let key = "";

export class Refused extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Takes the token out of the address at once, so that neither history nor a shoulder keeps it; null where there is none. */
export function takeToken(): string | null {
  const token = location.hash.slice(1);
  if (!/^[A-Za-z0-9_-]{43}$/.test(token)) return null;
  history.replaceState(null, "", "#/waiting");
  return token;
}

/** Gives a link's token, or a passkey's answer, for the key that every other question carries. */
export async function enter(path: "/api/enter" | "/api/login/finish", proof: object): Promise<void> {
  const answer = (await ask("POST", path, proof)) as { readonly key: string };
  key = answer.key;
}

export async function ask(method: "GET" | "POST", path: string, body?: unknown): Promise<unknown> {
  const response = await request(method, path, body);
  return response.json();
}

export async function askText(path: string): Promise<string> {
  return (await request("GET", path)).text();
}

async function request(method: "GET" | "POST", path: string, body?: unknown): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      cache: "no-store",
      credentials: "omit",
      headers: {
        ...(key === "" ? {} : { authorization: `Bearer ${key}` }),
        ...(method === "POST" ? { "content-type": "application/json" } : {}),
      },
      ...(method === "POST" ? { body: JSON.stringify(body ?? {}) } : {}),
    });
  } catch {
    throw new Refused("console_gone", "gw console does not answer. Start it again and open its new link.");
  }
  if (response.ok) return response;
  const said = (await response.json().catch(() => ({}))) as { readonly code?: string; readonly message?: string };
  throw new Refused(said.code ?? `status_${response.status}`, said.message ?? "The console refused that.");
}

/** Server-sent events over fetch, since EventSource cannot carry the key. Ends when the stream does. */
export async function stream(
  method: "GET" | "POST",
  path: string,
  take: (event: string, data: never) => void,
  body?: object,
): Promise<void> {
  const response = await request(method, path, body);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return;
    text += value;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      const event = lines.find((line) => line.startsWith("event: "))?.slice(7);
      const data = lines.find((line) => line.startsWith("data: "))?.slice(6);
      if (event !== undefined && data !== undefined) take(event, JSON.parse(data) as never);
    }
  }
}
