import { get as getPlain, type IncomingMessage } from "node:http";
import { request } from "node:https";

/** A browser as far as logging in needs one: it keeps cookies, follows redirects and sends forms. */
export interface Visitor {
  visit(url: string): Promise<Page>;
  submit(url: string, fields: Readonly<Record<string, string>>): Promise<Page>;
}

export interface Page {
  readonly url: string;
  readonly status: number;
  readonly text: string;
}

export function createVisitor(ca: string): Visitor {
  const jar = new Map<string, string>();

  function ask(method: string, url: string, body: string | null): Promise<IncomingMessage> {
    const { protocol } = new URL(url);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = {
      ...(cookie === "" ? {} : { cookie }),
      ...(body === null ? {} : { "content-type": "application/x-www-form-urlencoded" }),
    };
    return new Promise((resolve, reject) => {
      if (protocol === "http:") getPlain(url, resolve).on("error", reject);
      else
        request(url, { method, headers, ca, agent: false }, resolve)
          .on("error", reject)
          .end(body ?? undefined);
    });
  }

  async function go(method: string, url: string, body: string | null): Promise<Page> {
    const response = await ask(method, url, body);
    for (const line of response.headers["set-cookie"] ?? []) {
      const [name = "", value = ""] = (line.split(";", 1)[0] ?? "").split(/=(.*)/s);
      jar.set(name, value);
    }
    let text = "";
    for await (const part of response.setEncoding("utf8")) text += String(part);
    const { statusCode: status = 0, headers } = response;
    if (status >= 300 && status < 400 && headers.location !== undefined)
      return go("GET", new URL(headers.location, url).href, null);
    return { url, status, text };
  }

  return {
    visit: (url) => go("GET", url, null),
    submit: (url, fields) => go("POST", url, new URLSearchParams(fields).toString()),
  };
}
