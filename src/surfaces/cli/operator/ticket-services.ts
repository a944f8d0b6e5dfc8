import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ActionDefinition } from "../../../conventions/action/pack.ts";
import { readPack } from "../../../conventions/action/read.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { openHome } from "../../../vault/files/home.ts";
import type { TicketServiceTrust } from "../../../vault/policy/policy.ts";
import { readService, servicePage } from "../../../vault/policy/service-entries.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { readGivenFile } from "../read-given-file.ts";
import { say, type VaultCliPorts, type VaultOptions } from "../vault/session.ts";
import { type SignChange, signTried } from "../vault/sign-change.ts";

export interface ServiceOptions extends VaultOptions {
  readonly action: string;
  readonly input: string;
  readonly referenceField: string;
  readonly stateField: string;
  readonly open: readonly string[];
  readonly targetsField?: string;
  readonly operationsField?: string;
}

/** `gw ticket service add SYSTEM`: tickets of this system count only while the service says that they are open. */
export function runTicketServiceAdd(
  system: string,
  options: ServiceOptions,
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return answering(io, () => {
    const service = serviceOf(system, options);
    requireReader(options.home, service);
    const change = (sign: SignChange): Promise<void> =>
      sign({ what: "ticket_service_trusted", subject: system }, (policy) => {
        if (policy.ticketServices.some((one) => one.system === system)) {
          throw unusable(`${system} has a service already: gw ticket service remove ${system}, then add the other.`);
        }
        return { ...policy, ticketServices: [...policy.ticketServices, service] };
      });
    const line = `Tickets of ${system} count only while ${service.action} says that they are ${service.openStates.map(showIdentifier).join(" or ")}.`;
    return signTried(options, io, ports, change, () => say(io, options.json, servicePage(service), line));
  });
}

export function runTicketServiceList(options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, () => {
    const home = openHome(options.home, ports.random);
    const services = home.readPolicy(home.readVault()).ticketServices;
    if (options.json) io.out(JSON.stringify(services.map(servicePage), null, 2));
    else if (services.length === 0) io.out("No ticket services: a ticket is the word of whoever signed its context.");
    else {
      for (const { system, action, openStates } of services)
        io.out(`${system}  read with ${action}  open: ${openStates.map(showIdentifier).join(", ")}`);
    }
    return exits.done;
  });
}

export function runTicketServiceRemove(
  system: string,
  options: VaultOptions,
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  const change = (sign: SignChange): Promise<void> =>
    sign({ what: "ticket_service_removed", subject: system }, (policy) => {
      const ticketServices = policy.ticketServices.filter((one) => one.system !== system);
      if (ticketServices.length === policy.ticketServices.length) {
        throw new Denied("not_found", `${showIdentifier(system)} has no ticket service: gw ticket service list.`);
      }
      return { ...policy, ticketServices };
    });
  const line = `Tickets of ${showIdentifier(system)} are no longer looked up: they count on the word of whoever signs them.`;
  return answering(io, () =>
    signTried(options, io, ports, change, () => say(io, options.json, { removed: system }, line)),
  );
}

/** Exactly what policy would take, said before anybody types a passphrase. */
function serviceOf(system: string, options: ServiceOptions): TicketServiceTrust {
  const service = {
    system,
    action: options.action,
    referenceInput: options.input,
    referenceField: options.referenceField,
    stateField: options.stateField,
    openStates: [...new Set(options.open)],
    targetsField: options.targetsField ?? null,
    operationsField: options.operationsField ?? null,
  };
  try {
    return readService(servicePage(service), "");
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    throw unusable(
      `${error.message.slice(error.message.indexOf(": ") + 2)} Fields are JSON Pointers such as /fields/status/name.`,
    );
  }
}

/** The read exists in a pack of this home and can be made from the reference alone. That it is trusted is asked at every use. */
function requireReader(home: string, { action, referenceInput }: TicketServiceTrust): void {
  const [pack = ""] = action.split(".");
  const file = join(home, "packs", `${pack}.yaml`);
  if (!existsSync(file)) throw unusable(`There is no pack ${pack} here: gw pack add FILE, then gw pack trust ${pack}.`);
  const read = readPack(readGivenFile(file, defaults.packBytes, "ticket_service_invalid"), `${pack}.yaml`);
  const definition = read.pack?.actions.get(action.slice(pack.length + 1));
  if (definition === undefined) throw unusable(`${file} has no action ${action}.`);
  const why = unfit(definition, referenceInput);
  if (why !== null) throw unusable(`${action} cannot look a ticket up: ${why}.`);
}

function unfit(action: ActionDefinition, referenceInput: string): string | null {
  if (action.effect !== "read" || action.pages !== null) return "it is not a plain read";
  if (action.needs.ticket || action.needs.plan !== null) return "it needs a ticket or a plan itself";
  if (action.needs.approval === "each_use") return "it asks on every use";
  if (!action.inputs.some(({ name }) => name === referenceInput)) return `it has no input ${referenceInput}`;
  const more = action.inputs.find(
    ({ name, optional, constant }) => name !== referenceInput && !optional && constant === undefined,
  );
  return more === undefined ? null : `it needs ${more.name} too, and only the reference is known`;
}

function unusable(message: string): Denied {
  return new Denied("ticket_service_invalid", message);
}
