import { randomBytes } from "node:crypto";
import aws4 from "aws4";
import { type Received, startProvider, type TestProvider } from "./provider.ts";

/** AWS's Security Token Service, written from its documentation (AssumeRole, 2011-06-15): it signs what arrived itself, and compares. */
export interface TokenService extends TestProvider {
  /** What each key that it handed out may do, by its identifier. */
  readonly sessions: ReadonlyMap<string, Session>;
  /** How far its clock is from ours. */
  skewMs: number;
  /** A policy with this in it is refused. */
  refuses: string | null;
}

export interface Session {
  readonly id: string;
  readonly secret: string;
  readonly token: string;
  readonly policy: { readonly Statement: readonly { readonly Action: string[]; readonly Resource: string[] }[] };
}

export interface LongKey {
  readonly id: string;
  readonly secret: string;
}

export async function startTokenService(key: LongKey, roleArn: string, externalId: string): Promise<TokenService> {
  const service = await startProvider();
  const sessions = new Map<string, Session>();
  const own = Object.assign(service, { sessions, skewMs: 0, refuses: null as string | null });
  service.answer((request, response) => {
    const date = new Date(Date.now() + own.skewMs);
    const reply = (status: number, text: string): void => {
      response.writeHead(status, { "content-type": "text/xml", date: date.toUTCString() }).end(text);
    };
    const refuse = (status: number, code: string): void =>
      reply(status, `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code></Error></ErrorResponse>`);
    const form = new URLSearchParams(request.body);
    if (Math.abs(signedAt(request) - date.getTime()) > 15 * 60_000) return refuse(403, "SignatureDoesNotMatch");
    if (!isSignedBy(request, { ...key, token: undefined }, "sts")) return refuse(403, "SignatureDoesNotMatch");
    if (form.get("Action") !== "AssumeRole" || form.get("Version") !== "2011-06-15")
      return refuse(400, "InvalidAction");
    if (form.get("RoleArn") !== roleArn || form.get("ExternalId") !== externalId) return refuse(403, "AccessDenied");
    const policy = form.get("Policy") ?? "null";
    // Its own limits: characters up to U+00FF, and 2,048 of them.
    if (policy.length > 2_048 || /[^ -\u00ff]/.test(policy)) return refuse(400, "ValidationError");
    if (own.refuses !== null && policy.includes(own.refuses)) return refuse(400, "MalformedPolicyDocument");
    const session: Session = {
      id: `ASIA${randomBytes(8).toString("hex").toUpperCase()}`,
      secret: randomBytes(30).toString("base64"),
      token: randomBytes(90).toString("base64"),
      policy: JSON.parse(policy),
    };
    sessions.set(session.id, session);
    const [, , , , account, role = ""] = roleArn.split(":");
    const arn = `arn:aws:sts::${account}:assumed-role/${role.split("/").at(-1)}/${form.get("RoleSessionName")}`;
    const until = new Date(date.getTime() + 1_000 * Number(form.get("DurationSeconds"))).toISOString();
    reply(
      200,
      `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>
<AssumedRoleUser><AssumedRoleId>AROA123EXAMPLE:gw</AssumedRoleId><Arn>${arn}</Arn></AssumedRoleUser>
<Credentials><AccessKeyId>${session.id}</AccessKeyId><SecretAccessKey>${session.secret}</SecretAccessKey>
<SessionToken>${session.token}</SessionToken><Expiration>${until}</Expiration></Credentials>
<PackedPolicySize>6</PackedPolicySize></AssumeRoleResult></AssumeRoleResponse>`,
    );
  });
  return own;
}

export function signedAt({ headers }: Received): number {
  const text = String(headers["x-amz-date"] ?? "");
  return Date.parse(text.replace(/^(....)(..)(..T..)(..)(..Z)$/, "$1-$2-$3:$4:$5"));
}

/** What a service does with a request: it signs what arrived with the key it has, and compares. */
export function isSignedBy(
  { method, url, headers, body }: Received,
  { id, secret, token }: { readonly id: string; readonly secret: string; readonly token: string | undefined },
  service: string,
): boolean {
  const { authorization, host, "content-type": type } = headers;
  const own = Object.entries(headers).filter(([name]) => name.startsWith("x-amz-") && name !== "x-amz-security-token");
  const given = { host, ...Object.fromEntries(own), ...(type === undefined ? {} : { "content-type": type }) };
  const signed = aws4.sign(
    {
      ...{ method, path: url, service, region: "eu-west-1", headers: given },
      ...(body.length === 0 ? {} : { body }),
      extraHeadersToIgnore: { "content-length": true },
    } as aws4.Request,
    { accessKeyId: id, secretAccessKey: secret, ...(token === undefined ? {} : { sessionToken: token }) },
  );
  return authorization === signed.headers?.["Authorization"] && headers["x-amz-security-token"] === token;
}
