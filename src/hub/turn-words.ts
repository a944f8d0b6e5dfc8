import { Denied } from "../kernel/failure.ts";

const anew = (label: string): string =>
  `An operator agrees once more with gw credential login ${label}, or gives a new refresh token: gw credential rotate ${label}.`;

export function notBegun(label: string): Denied {
  return new Denied(
    "credential_shared",
    `${label} has a refresh token, several gateways on the hub may use it, and none has begun to share it. An operator begins where it was used last, or where it was added: gw credential test ${label}. Nothing was sent.`,
  );
}

export function putBack(label: string): Denied {
  return new Denied(
    "hub_rolled_back",
    `The hub shows an older refresh token of ${label} than this gateway saw there, or none. It may be spent, and is not used. Find out what happened to the database. ${anew(label)}`,
  );
}

export function tampered(label: string): Denied {
  return new Denied(
    "hub_turn_tampered",
    `What the hub shows of the refresh token of ${label} was not written by a gateway that may lend it now, or is about a secret that was added later than now. It is not used. If none of them lost the right to lend it a moment ago, and no clock is wrong, find out who changed the database. ${anew(label)}`,
  );
}

export function forked(label: string): Denied {
  return new Denied(
    "hub_forked",
    `Somebody else wrote on the hub about the refresh token of ${label} while it was this gateway's turn: a copy of this host. Stop the copy; a restored home joins under another name.`,
  );
}

export function notForUs(label: string, by: string): Denied {
  return new Denied(
    "token_unavailable",
    `The newest refresh token of ${label} is sealed for the gateways that lent it when ${by} put it on the hub, and this one is not among them. With the next token that is got there it is handed on: gw credential test ${label} on ${by}.`,
  );
}

export function behind(label: string): Denied {
  return new Denied(
    "gateway_behind",
    `The hub has a refresh token of ${label} that is newer than the vault of this gateway. It follows as soon as the hub shows the newer vault.`,
  );
}

export function ended(label: string): Denied {
  return new Denied(
    "token_grant_ended",
    `${label}: the provider refused its refresh token to another gateway, and it is not used again. ${anew(label)}`,
  );
}

export function stuck(label: string): Denied {
  return new Denied(
    "hub_refused",
    `The hub's database answers, and takes no word of this gateway about the refresh token of ${label}: the word of another one comes first each time, or a trigger or a rule of its owner keeps ours out. Nothing was sent. Look at the table gw_hub.turns there, and try again: gw credential test ${label}.`,
  );
}

export function busy(label: string, gateway: string): Denied {
  return new Denied(
    "token_unavailable",
    `${gateway} has begun to use the refresh token of ${label}, and has not said what came of it. Nothing was sent. It says so when it is up, unlocked and reaches the hub. If that host is gone: ${anew(label)}`,
  );
}
