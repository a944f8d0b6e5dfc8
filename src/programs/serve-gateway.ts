import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { createCallerPlatform, harden } from "../adapters/platform/callers.ts";
import { descriptorLimit } from "../adapters/platform/descriptors.ts";
import { createDiskWatch } from "../adapters/platform/disk.ts";
import { createSocketPeers } from "../adapters/platform/socket-peer.ts";
import { systemRandom as random, systemSleep as sleep } from "../adapters/platform/system.ts";
import { createSpool } from "../adapters/store/spool.ts";
import { stateMigrations } from "../adapters/store/sqlite/state-schema.ts";
import { requireKnownFormat } from "../adapters/store/sqlite/upgrade-state.ts";
import { readMarks } from "../audit/read/marks.ts";
import { createGateway } from "../gateway/gateway.ts";
import { createEnvelope } from "../gateway/record/record.ts";
import { createBell } from "../gateway/webhook/bell.ts";
import type { Clock } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import { createIds } from "../kernel/ids.ts";
import { agentRoutes } from "../surfaces/agent/routes.ts";
import { callbackRoutes } from "../surfaces/callbacks/routes.ts";
import { createTurns } from "../surfaces/mcp/turns.ts";
import { upgradeToMcp } from "../surfaces/mcp/upgrade.ts";
import { createLogins } from "../surfaces/operator/logins.ts";
import { createOperationNews } from "../surfaces/operator/operation-news.ts";
import { createOperationRecords } from "../surfaces/operator/operation-records.ts";
import { operatorRoutes } from "../surfaces/operator/routes.ts";
import { readMachine } from "../surfaces/place/machine.ts";
import { fingerprintHome } from "../vault/files/fingerprint.ts";
import { openHome } from "../vault/files/home.ts";
import { listenForAgents } from "./daemon/agent-listener.ts";
import { createCallbackDoor } from "./daemon/callback-door.ts";
import { millisecondsAhead, tellClock, watchClock } from "./daemon/clock-set-back.ts";
import { createCustody } from "./daemon/custody.ts";
import { agentConnectionsFor, createDoorkeeper } from "./daemon/doorkeeper.ts";
import { createHealth, gaugesOf, type Health } from "./daemon/health.ts";
import { createHomeDocuments } from "./daemon/home-documents.ts";
import { createHubDesk } from "./daemon/hub/desk.ts";
import { createHubGate } from "./daemon/hub/gate.ts";
import { createHubLink } from "./daemon/hub/link.ts";
import { watchKeyFile } from "./daemon/key-file.ts";
import { type Asked, readArguments, refuseStart } from "./daemon/launch.ts";
import { createModeFinder } from "./daemon/mode.ts";
import { noteStart } from "./daemon/note-start.ts";
import { openGatewayLog } from "./daemon/open-log.ts";
import { listenForOperators } from "./daemon/operator-listener.ts";
import { createOperatorUsers } from "./daemon/operator-users.ts";
import { loadPacks } from "./daemon/packs.ts";
import { planeRecords } from "./daemon/plane-records.ts";
import { createPosture } from "./daemon/posture.ts";
import { readSettings } from "./daemon/settings.ts";
import { createSteward, type DaemonSteward } from "./daemon/steward.ts";
import type { StewardState } from "./daemon/steward-parts.ts";
import { stopOnSignal } from "./daemon/stop-on-signal.ts";
import { openTransports } from "./daemon/transports.ts";
import {
  callerPolicyOf,
  judgeTrust,
  operatorKeysOf,
  passkeysOf,
  raisedBy,
  readTrust,
  ticketIssuersOf,
  ticketServicesOf,
} from "./daemon/trust.ts";
import { unlockWithout } from "./daemon/unlock-without.ts";
import { watchFiles } from "./daemon/watch-files.ts";
import { version } from "./version.ts";

/**
 * The gateway process itself. It never sees a passphrase: `gw up` starts it, and an operator's client hands it the
 * service key over the operator socket. Usage: gateway HOME [--config FILE] [--key-file FILE]. The clock is the machine's
 * own, but for the demo, which plays a year ago.
 */
export async function serveGateway(clock: Clock): Promise<void> {
  const asked = readArguments(process.argv.slice(2));
  if (asked === undefined) {
    console.error("usage: gateway HOME [--config FILE] [--key-file FILE]; start it with: gw up");
    process.exit(2);
  }
  const health = createHealth(clock);
  try {
    await harden({ inspectable: false, startsPrivileged: false });
    await start(asked, clock, health);
  } catch (error) {
    refuseStart(error, health);
  }
}

async function start({ folder, config, keyFile: keyFilePath }: Asked, clock: Clock, health: Health): Promise<void> {
  const settings = await readSettings(folder, await readMachine(config));
  requireKnownFormat(folder, stateMigrations.length);
  const home = openHome(folder, random);
  const files = fingerprintHome(folder);
  const logged = readMarks(settings.auditFolder);
  const trust = judgeTrust(readTrust(home), logged);
  const state: StewardState = {
    trust,
    high: trust.trouble === null ? raisedBy(logged, trust) : logged,
    files,
    filesRefused: null,
    packs: loadPacks(settings.packsFolder, trust.policy),
    compartment: null,
    stoppedBy: null,
  };
  const writtenAhead = millisecondsAhead(settings.auditFolder, clock);
  const traffic = { calls: 0 };
  const { log, hands } = await openGatewayLog({
    folder: settings.auditFolder,
    clock,
    random,
    state,
    company: () => traffic.calls,
  });
  tellClock(health.facts, writtenAhead);
  watchClock(health.facts, clock);
  const space = createDiskWatch(folder, clock);
  const ids = createIds(clock, random);
  const envelope = createEnvelope(ids, clock);
  const operatorUsers = createOperatorUsers(process.geteuid?.() ?? -1, (error) => onFault(error, correlationId()));
  const modes = createModeFinder(settings, operatorUsers);
  const keyFile = watchKeyFile(keyFilePath, process.env["CREDENTIALS_DIRECTORY"], random);
  const hub = createHubLink({
    home: folder,
    folder: settings.auditFolder,
    log,
    clock,
    sleep,
    random,
    facts: health.facts,
    state,
  });
  const audit = hub.watch(health.watch(log));
  const gate = createHubGate({
    log,
    sleep,
    rules: () => state.trust.policy?.hub?.rules ?? null,
    shipper: hub.shipper,
    limits: hub.limits,
    arrived: hub.arrived,
  });
  const { http, ssh, sources, probe } = openTransports({
    folder,
    auditFolder: settings.auditFolder,
    clock,
    state,
    facts: health.facts,
  });
  const callers = await createCallerPlatform(() => callerPolicyOf(state.trust, folder), settings.ident);
  const operators = () => ({
    vaultId: state.trust.vault.vaultId,
    keys: operatorKeysOf(state.trust),
    passkeys: passkeysOf(state.trust),
  });
  const posture = createPosture(modes, state);
  const gateway = createGateway(
    {
      clock,
      sleep,
      random,
      ids,
      audit,
      http,
      ssh,
      sources,
      space,
      traffic,
      hub: gate,
      turns: hub.turns,
      spool: createSpool(join(folder, "spool"), space),
    },
    {
      packs: () => state.packs.book,
      posture: () => posture,
      grants: () => state.trust.policy?.grants ?? [],
      isAgentUser: modes.isAgentUser,
      operators,
      showHand: (text) => void hands.push(text),
      ticketIssuers: () => ticketIssuersOf(state.trust),
      ticketServices: () => ticketServicesOf(state.trust),
      worker: `log ${log.logId}`,
      async suspendCredential(label, of, reason) {
        const suspended = await steward.suspendCredentials([label], reason, null, of);
        if (suspended.length === 0) return;
        health.facts.tell("error", "credential_suspended", { message: `${label} is suspended. ${reason}` });
      },
      onStop(cause) {
        const message = cause instanceof Error ? cause.message : String(cause);
        const code = cause instanceof Denied ? cause.code : null;
        state.stoppedBy = { message, code };
        // A damaged state names its own way on.
        const next = code === "store_unreadable" ? "" : ". Mend the disk, then: gw resume";
        health.facts.tell("error", "sending_stopped", {
          message: `the gateway has stopped sending: ${message}${next}`,
        });
        health.lookAgain();
      },
    },
  );
  const bell = createBell({
    ...{ http, clock, sleep, envelope, ledger: gateway.ledger, desk: gateway.desk },
    webhooks: () => state.trust.policy?.webhooks ?? [],
    onGivenUp(webhook, approval_id) {
      const message = `${webhook} was not told that ${approval_id} waits: gw status says how its last try ended`;
      health.facts.tell("warning", "webhook_given_up", { webhook, approval_id, message });
    },
    credentials: () => state.compartment?.credentials ?? null,
  });
  const logins = createLogins(clock, random, operators);
  const correlationId = (): string => ids.next("evt");
  const onFault = (error: unknown, id: string): void => {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    health.facts.tell("error", "fault", { correlation_id: id, message: `fault ${id}: ${message}` });
  };
  const records = planeRecords(gateway);
  const callbacks = createCallbackDoor(settings.callbackAddress, {
    ...{ routes: callbackRoutes(gateway.callbacks), clock, correlationId, onFault, onRecord: records.callbacks },
  });
  const reload = (): Promise<void> => steward.reload();
  const operations = createOperationRecords(gateway, clock);
  const custody = createCustody(settings, home, random, reload);
  hub.attend(
    createHubDesk({
      gateway,
      log,
      clock,
      sleep,
      state,
      operations,
      correlationId,
      onFault,
    }),
    createHomeDocuments({ home, packsFolder: settings.packsFolder, state, random, reload }),
    gateway.fleet,
    {
      async offerAttestation(before) {
        const stands = before !== null && log.isAttestable({ frame: before.head_frame, link: before.head_link });
        return stands ? before : steward.offerAttestation();
      },
      attest: (statement) => steward.attest(statement),
      unlock: (serviceKey, operator) => steward.unlockByHub(serviceKey, operator),
    },
  );
  const steward: DaemonSteward = createSteward({
    ...{ version, settings, home, log, gateway, envelope, clock, random, logins, state, callbacks, bell, hub, space },
    ...{ custody, keyFile, operatorUsers, modes, probe },
  });
  await noteStart({ gateway, envelope, clock, mode: modes.mode(), trust, health });
  const operatorDoor = await listenForOperators({
    socket: settings.operatorSocket,
    onOperator: (socket, { operatorKeyId }) => modes.seeOperator(socket, operatorKeyId),
    routes: operatorRoutes(steward, logins, version),
    logins,
    desk: gateway.desk,
    operations: createOperationNews({ watch: gateway.operations.watch, board: operations.board }, clock, sleep),
    metrics: () => health.metrics(gaugesOf(gateway, operations, state, clock), settings.home, settings.auditFolder),
    clock,
    peers: await createSocketPeers(),
    correlationId,
    onRecord: records.operator,
    onFault,
  });
  const turns = createTurns(defaults.mcpLinesATurn, defaults.mcpTurnMs);
  const agentDoor = await listenForAgents({
    socket: settings.agentSocket,
    callers,
    routes: agentRoutes(gateway, sleep, version),
    upgrade: (request) => upgradeToMcp(request, { gateway, sleep, version, turns, correlationId, onFault }),
    correlationId,
    onRecord: records.agent,
    onFault,
    standingOf: gateway.standingOf,
    connections: agentConnectionsFor(descriptorLimit()),
    onRefused: createDoorkeeper(gateway, envelope, { clock, sleep, space }),
  });
  const watched = watchFiles(
    home,
    state,
    () => steward.reload(),
    (error) => onFault(error, correlationId()),
  );
  await callbacks.adjust(state.trust.policy?.settings.callbacks ?? "off");
  // What nobody signed is not obeyed, by hand or by key file: it stays locked, and has said why.
  if (trust.trouble === null) await unlockWithout(steward, keyFile, trust.vault.vaultId, health);
  stopOnSignal(async (signal) => {
    watched.close();
    health.stopping();
    callbacks.close();
    bell.close();
    agentDoor.close();
    await steward.shutDown(signal);
    await hub.finish();
    operatorDoor.close();
    callers.close();
    ssh.close();
    await http.close();
  });
  await hub.adjust();
  health.ready(() => ({ locked: gateway.locked, stopped: state.stoppedBy !== null }));
  // The launcher waits for this line before it hands over the key.
  process.stdout.write(`ready ${process.pid} ${randomBytes(4).toString("hex")}\n`);
}
