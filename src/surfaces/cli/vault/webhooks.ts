import {
  placeOfWebhook,
  troubleWithWebhook,
  type Webhook,
  type WebhookFormat,
} from "../../../conventions/webhook/webhook.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { openHome } from "../../../vault/files/home.ts";
import { webhookPage } from "../../../vault/policy/webhook-entries.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { say, type VaultCliPorts, type VaultOptions } from "./session.ts";
import { type SignChange, signTried } from "./sign-change.ts";

export interface WebhookAddOptions extends VaultOptions {
  readonly url: string;
  readonly format: WebhookFormat;
  readonly secret?: string;
  readonly arguments?: boolean;
  readonly console: string;
  readonly network: "public" | "private";
}

/** `gw webhook add NAME --url URL`: an operator signs where it is told that a card waits. */
export function runWebhookAdd(
  name: string,
  options: WebhookAddOptions,
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return answering(io, () => {
    const hook: Webhook = {
      ...{ name, url: options.url, format: options.format, secret: options.secret ?? null },
      ...{ tellsArguments: options.arguments === true, console: options.console, network: options.network },
    };
    const trouble = /^[a-z][a-z0-9-]{0,50}$/.test(name) ? troubleWithWebhook(hook) : "its name is a-z, 0-9 and dashes";
    if (trouble !== null) throw new Denied("webhook_invalid", `The webhook was not signed: ${trouble}.`);
    requireSecret(hook, options, ports);
    const change = (sign: SignChange): Promise<void> =>
      sign({ what: "webhook_added", subject: name }, (policy) => {
        if (policy.webhooks.some((one) => one.name === name))
          throw new Denied("webhook_invalid", `There is a webhook ${name} already: gw webhook remove ${name}`);
        return { ...policy, webhooks: [...policy.webhooks, hook] };
      });
    const told = hook.tellsArguments ? "what waits, WITH the arguments of the call" : "what waits, without arguments";
    const words = `${name} is told from now on: ${told}. Nobody decides through it.`;
    return signTried(options, io, ports, change, () => say(io, options.json, webhookPage(hook), words));
  });
}

/** Told before anybody types a passphrase: a webhook without its secret would only fail. */
function requireSecret({ name, url, format, secret }: Webhook, { home }: VaultOptions, ports: VaultCliPorts): void {
  if (secret === null) return;
  const entry = openHome(home, ports.random)
    .readVault()
    .credentials.find(({ label }) => label === secret);
  const [kind, place, option] =
    format === "standard"
      ? (["hmac", placeOfWebhook(name), `--pack ${placeOfWebhook(name)}`] as const)
      : (["bearer", new URL(url.replace("{secret}", "")).origin, null] as const);
  if (entry !== undefined && entry.kind === kind && entry.source === null && entry.boundTo.includes(place)) return;
  // What is there for something else stays what it is: one label is added once.
  const label = entry === undefined ? showIdentifier(secret) : "ANOTHER-LABEL";
  const why =
    entry === undefined
      ? `The vault has sealed no ${kind} credential ${showIdentifier(secret)} for it.`
      : `${showIdentifier(secret)} of the vault is no sealed ${kind} credential for it, and serves something else.`;
  throw new Denied(
    "webhook_invalid",
    `${why} Add one: gw credential add ${label} --kind ${kind} ${option ?? `--origin ${place}`}`,
  );
}

export function runWebhookList(options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, () => {
    const home = openHome(options.home, ports.random);
    const { webhooks } = home.readPolicy(home.readVault());
    if (options.json) io.out(JSON.stringify(webhooks.map(webhookPage)));
    else if (webhooks.length === 0) io.out("No webhooks: gw watch and the console ring alone.");
    else
      for (const { name, format, url, tellsArguments } of webhooks)
        io.out(`${name}  ${format}  ${showIdentifier(url)}${tellsArguments ? "  WITH ARGUMENTS" : ""}`);
    return exits.done;
  });
}

export function runWebhookRemove(name: string, options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, () =>
    signTried(
      options,
      io,
      ports,
      (sign) => removeWebhook(name, sign),
      () => say(io, options.json, { webhook: name, removed: true }, `${name} is told nothing more.`),
    ),
  );
}

async function removeWebhook(name: string, sign: SignChange): Promise<void> {
  await sign({ what: "webhook_removed", subject: name }, (policy) => {
    const webhooks = policy.webhooks.filter((one) => one.name !== name);
    if (webhooks.length === policy.webhooks.length)
      throw new Denied("not_found", `There is no webhook ${showIdentifier(name)}. See: gw webhook list`);
    return { ...policy, webhooks };
  });
}
