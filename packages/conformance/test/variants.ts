import { createServer, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";

/** A request on its way through the proxy; a variant changes it, or answers it itself. */
export interface Passing {
  method: string;
  target: string;
  readonly headers: Record<string, string>;
  body: string;
}

export interface Answered {
  status: number;
  readonly headers: Record<string, string>;
  body: string;
}

/** One deliberate break. `incoming` may answer in the provider's place; `outgoing` changes what the provider answered. */
export interface Variant {
  readonly incoming?: (passing: Passing) => Answered | undefined;
  readonly outgoing?: (passing: Passing, answered: Answered) => void;
}

/** Stands before a sound provider and breaks one thing. */
export async function startVariant(
  origin: string,
  make: () => Variant,
): Promise<{ readonly origin: string; close(): Promise<void> }> {
  const variant = make();
  const { port } = new URL(origin);
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const headers = Object.fromEntries(
        Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
      );
      const passing: Passing = {
        method: incoming.method ?? "",
        target: incoming.url ?? "",
        headers,
        body: Buffer.concat(chunks).toString("latin1"),
      };
      const own = variant.incoming?.(passing);
      if (own !== undefined) {
        response.writeHead(own.status, { "content-type": "application/json", ...own.headers }).end(own.body, "latin1");
        return;
      }
      const bytes = Buffer.from(passing.body, "latin1");
      if (headers["transfer-encoding"] === undefined && (bytes.length > 0 || headers["content-length"] !== undefined)) {
        headers["content-length"] = String(bytes.length);
      }
      const sent = sendRequest({ port, method: passing.method, path: passing.target, headers }, (reply) => {
        const parts: Buffer[] = [];
        reply.on("data", (chunk: Buffer) => parts.push(chunk));
        reply.on("end", () => {
          const back = Object.fromEntries(Object.entries(reply.headers).map(([name, value]) => [name, String(value)]));
          const answered: Answered = {
            status: reply.statusCode ?? 0,
            headers: back,
            body: Buffer.concat(parts).toString("utf8"),
          };
          variant.outgoing?.(passing, answered);
          delete back["content-length"];
          delete back["connection"];
          delete back["transfer-encoding"];
          response.writeHead(answered.status, back).end(answered.body);
        });
      });
      sent.on("error", () => response.destroy());
      sent.end(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const previewed = "/v1/projects/atlas/memberships/plan";
const planned = "/v1/projects/borealis/memberships/plan";
const rollbacks = "/v1/environments/staging/rollbacks";
const fine: Answered = { status: 200, headers: {}, body: "{}" };

const onPath = (path: string, change: (passing: Passing) => void): Variant => ({
  incoming(passing) {
    if (passing.target.split("?")[0] === path) change(passing);
    return undefined;
  },
});

const onBody = (path: string, from: string | RegExp, to: string): Variant =>
  onPath(path, (passing) => {
    passing.body = passing.body.replace(from, to);
  });

// biome-ignore lint/suspicious/noExplicitAny: a variant edits whatever the provider answered
type Edit = (body: any, answered: Answered, passing: Passing) => void;

const onAnswer = (when: (passing: Passing, answered: Answered) => boolean, edit: Edit): Variant => ({
  outgoing(passing, answered) {
    if (!when(passing, answered)) return;
    const body = JSON.parse(answered.body);
    edit(body, answered, passing);
    answered.body = JSON.stringify(body);
  },
});

const toPath = (path: string) => (passing: Passing) => passing.target.split("?")[0] === path;

const takesNoBody = (when: (passing: Passing) => boolean): Variant =>
  onPath("/v1/sessions/revoke", (passing) => {
    if (!when(passing)) return;
    passing.body = "";
    passing.target = "/v1/sessions/revoke";
    delete passing.headers["content-type"];
    delete passing.headers["transfer-encoding"];
  });

/** For each check, a provider that breaks that rule and no other. */
export const variants: Readonly<Record<string, () => Variant>> = {
  "request.media_type.unsupported": () =>
    onPath(previewed, ({ headers }) => {
      if (headers["content-type"] === "text/plain") headers["content-type"] = "application/json";
    }),
  "request.media_type.missing": () =>
    onPath(previewed, ({ headers }) => {
      headers["content-type"] ??= "application/json";
    }),
  "request.media_type.charset": () =>
    onPath(previewed, ({ headers }) => {
      if (headers["content-type"]?.includes("charset")) headers["content-type"] = "application/json";
    }),
  "request.accept": () => ({
    incoming: ({ headers }) => (headers["accept"]?.includes("urlencoded") ? { ...fine, status: 415 } : undefined),
  }),
  "request.content_encoding": () => onPath(previewed, ({ headers }) => void delete headers["content-encoding"]),
  "request.size_limit": () => onBody(previewed, / {100,}$/, ""),
  "request.query_not_merged": () =>
    onPath(previewed, (passing) => {
      passing.target = previewed;
    }),
  "json.duplicate_member": () => onBody(previewed, '"subject_id":"x",', ""),
  "json.unknown_member": () => onBody(previewed, ',"conformance_unknown":1', ""),
  "json.wrong_type": () => onBody(previewed, '"subject_id":true', '"subject_id":"ada"'),
  "json.null": () => onBody(previewed, '"subject_id":null', '"subject_id":"ada"'),
  "json.empty_text": () => onBody(previewed, '"subject_id":""', '"subject_id":"ada"'),
  "json.trailing_data": () => onBody(previewed, /\}\{\}$/, "}"),
  "json.comment": () => onBody(previewed, "/* conformance */", ""),
  "json.nan": () => onBody(previewed, "NaN", '"ada"'),
  "json.unquoted_name": () => onBody(previewed, "{subject_id:", '{"subject_id":'),
  "error.shape": () =>
    onAnswer(
      (passing, { status }) => toPath(previewed)(passing) && status === 422,
      (body) => {
        delete body.code;
        delete body.message;
      },
    ),
  "url.segment_decoded_once": () => ({
    incoming(passing) {
      if (passing.target.includes("%2520")) passing.target = passing.target.replaceAll("%25", "%");
      return undefined;
    },
  }),
  "url.repeated_scalar": () => ({
    incoming(passing) {
      passing.target = passing.target.replace("&q=other", "");
      return undefined;
    },
  }),
  "access.token_missing": () => ({
    outgoing: ({ headers }, answered) => void (headers["authorization"] ?? delete answered.headers["www-authenticate"]),
  }),
  "access.token_altered": () => ({
    incoming: ({ headers }) => (headers["authorization"]?.endsWith("AAAAAAAA") ? fine : undefined),
  }),
  "upload.digest": () => onAnswer(toPath("/v1/artifacts"), (body) => void delete body.artifact_digest),
  "upload.unknown_part": () =>
    onBody("/v1/artifacts", /--conformance-boundary\r\nContent-Disposition: form-data; name="extra"\r\n\r\n1\r\n/, ""),
  "upload.repeated_part": () =>
    onPath("/v1/artifacts", (passing) => {
      const part =
        /--conformance-boundary\r\nContent-Disposition: form-data; name="manifest"\r\n\r\n[^\r]*\r\n/.exec(
          passing.body,
        )?.[0] ?? "";
      if (part !== "") passing.body = passing.body.replace(part + part, part);
    }),
  "upload.path_filename": () => onBody("/v1/artifacts", "../conformance.bin", "conformance.bin"),
  "upload.missing_part": () => ({
    incoming: ({ target, body }) =>
      target === "/v1/artifacts" && !body.includes('name="manifest"') ? fine : undefined,
  }),
  "list.complete": () =>
    onAnswer(
      ({ target }) => target.startsWith("/v1/projects?limit=13"),
      (body) => body.data.pop(),
    ),
  "list.page_size": () =>
    onAnswer(
      ({ target }) => target === "/v1/projects?limit=2",
      (body) => body.data.push(body.data[0]),
    ),
  "list.cursor_malformed": () => ({
    incoming(passing) {
      passing.target = passing.target.replace("?cursor=conformance-no-cursor", "");
      return undefined;
    },
  }),
  "list.cursor_bound": () => ({
    incoming(passing) {
      passing.target = passing.target.replace("sort=-name&", "");
      return undefined;
    },
  }),
  "preview.mode": () => onAnswer(toPath(planned), (body) => void delete body.mode),
  "preview.fields": () => onAnswer(toPath(planned), (body) => void delete body.request_digest),
  "preview.effects": () =>
    onAnswer(toPath(planned), (body) => {
      for (const group of body.effects) delete group.relation;
    }),
  "preview.pure": () => {
    let previews = 0;
    return onAnswer(
      (passing) => {
        if (toPath(planned)(passing)) previews++;
        return passing.target === "/v1/projects/borealis";
      },
      (body) => {
        body.last_previewed = previews;
      },
    );
  },
  "preview.version_conflict": () =>
    onAnswer(toPath(planned), (body) => {
      body.validation = [];
    }),
  "execute.plan_alone": () => onBody("/memberships", /,"conformance_copy":"x"/, ""),
  "execute.expected_revision": () => ({
    incoming: ({ target, body }) =>
      target === "/memberships" && body.includes("conformance-no-revision") ? fine : undefined,
  }),
  "execute.single_use": () => answerInstead("plan_used"),
  "execute.plan_stale": () =>
    onAnswer(
      (_passing, { body }) => body.includes('"code":"plan_stale"'),
      (body) => {
        body.code = "conflict";
      },
    ),
  "token.replay": () => {
    const seen = new Set<string>();
    return onAnswer(
      ({ headers, target }) => {
        const key = headers["idempotency-key"] ?? "";
        const again = target === "/v1/reports" && !key.startsWith("many-") && seen.has(key);
        seen.add(key);
        return again;
      },
      (body, answered) => {
        if (answered.status === 202) body.job_id = "job_another";
      },
    );
  },
  "token.other_payload": () => answerInstead("idempotency_key_reused"),
  "token.missing": () => answerInstead("idempotency_key_missing"),
  "token.concurrent": () => {
    let count = 0;
    return onPath("/v1/reports", ({ headers }) => {
      if (headers["idempotency-key"]?.startsWith("many-")) headers["idempotency-key"] += `-${count++}`;
    });
  },
  "job.creation": () => ({
    outgoing: ({ target }, { headers }) => void (target === "/v1/reports" && delete headers["location"]),
  }),
  "job.status": () =>
    onAnswer(
      ({ target, method }) => method === "GET" && target.startsWith("/v1/jobs/"),
      (body) => void delete body.progress,
    ),
  "job.cancel": () =>
    onAnswer(
      ({ method }) => method === "DELETE",
      (body) => {
        body.state = "cancelled";
      },
    ),
  "job.unknown": () => ({ incoming: ({ target }) => (target.endsWith("job_conformance_none") ? fine : undefined) }),
  "release.tag": () => ({
    incoming: ({ body }) => (body.includes('"release":"latest"') ? { ...fine, status: 201 } : undefined),
  }),
  "promotion.provenance": () => onAnswer(toPath("/v1/deployments/promote"), (body) => void delete body.actor_id),
  "rollback.restores": () =>
    onAnswer(
      (passing, { status }) => toPath(rollbacks)(passing) && status === 201,
      (body) => {
        body.status = "done";
      },
    ),
  "rollback.stale": () =>
    onAnswer(
      (passing, { status }) => toPath(rollbacks)(passing) && status === 409,
      (body) => void delete body.observed_release_id,
    ),
  "rollback.ownership": () => ({
    incoming: ({ target, body }) =>
      target === rollbacks && body.includes("conformance forged") ? { ...fine, status: 201 } : undefined,
  }),
  "rollback.concurrent": () => ({
    outgoing({ target, body }, answered) {
      if (target === rollbacks && body.includes("conformance many")) answered.status = 201;
    },
  }),
  "no_body.json": () => takesNoBody(({ body }) => body === "{}"),
  "no_body.form": () => takesNoBody(({ body }) => body === "a=b"),
  "no_body.content_type": () =>
    takesNoBody(({ body, headers }) => body === "" && headers["content-type"] !== undefined),
  "no_body.chunked": () => takesNoBody(({ headers }) => headers["transfer-encoding"] !== undefined),
  "no_body.query": () => takesNoBody(({ target }) => target.includes("?")),
};

/** A provider that says yes where the sound one refuses with this code. */
function answerInstead(code: string): Variant {
  return {
    outgoing(_passing, answered) {
      if (!answered.body.includes(`"code":"${code}"`)) return;
      answered.status = 202;
      answered.body = "{}";
    },
  };
}
