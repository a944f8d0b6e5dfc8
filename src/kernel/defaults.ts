/** Every number that a person might tune, with its unit in its name. Rooms take these as arguments where it matters. */
export const defaults = {
  // Runs
  /** A grant that nobody renews ends. */
  grantMaximumMs: 366 * 86_400_000,
  /** How long the dialog of a desktop may stand open. */
  pinentryMs: 120_000,
  /** A webhook that was not taken is sent again so often, the first time after so long, and each time six times longer. */
  webhookTries: 5,
  webhookFirstDelayMs: 5_000,
  webhookDelayMsMax: 300_000,
  webhookTimeoutMs: 10_000,
  /** Messages on their way; beyond these nothing more is told. */
  webhooksAtOnce: 64,
  webhookCardsRemembered: 1_000,
  /** A grant that nobody uses ends. */
  grantIdleDays: 30,
  runAttempts: 40,
  runDurationMs: 600_000,
  runSpendCents: 0,
  runSideEffects: 5,
  runMaximumAttempts: 10_000,
  runMaximumDurationMs: 86_400_000,
  runMaximumSpendCents: 100_000_000,
  runMaximumSideEffects: 1_000,
  /** Ceilings of spend that hold where policy names none. */
  ceilingRunSpendCents: 100_000,
  ceilingDaySpendCents: 100_000,
  runRequestBytes: 262_144,
  /** What a wrapper hands over of one request of a tool in a box, as JSON with the body in base64. */
  containedRequestBytes: 12_582_912,
  /** What all requests together take that are larger than anybody's may be: sixteen of the largest. */
  requestRoomBytes: 201_326_592,
  /** The largest body of such a request, as it is sent on. */
  containedBodyBytes: 8_388_608,
  /** Larger ones of an opaque body lie in a file while they are dealt with: so large at most, so many at once, and so many of them one user's. */
  spooledBodyBytes: 268_435_456,
  spooledAtOnce: 4,
  spooledAtOnceOfUser: 2,
  /** What a wrapper says of such a request beside its body. */
  spooledHeadBytes: 262_144,
  /** Of a refused one, the log keeps a body up to this, to draft a pack from. */
  containedKeptBytes: 16_384,
  runsRemembered: 1_000,
  runsPerCaller: 16,
  /** Processes that are held for their next connection; each takes a few descriptors. */
  callersHeldPerUid: 16,
  callersHeld: 64,
  /** What a user may have written down before a person said yes: runs at once, then a second; a large request counts for several. */
  runsBurstPerUid: 240,
  runsPerSecondPerUid: 2,
  runCostBytes: 4_096,
  /** All of it together, in bytes on the disk: so many at once, and as many again a day. Past that things are counted. */
  unapprovedBytesPerDay: 67_108_864,
  unapprovedRemembered: 1_024,
  /** How often counts are written; the second where that volume is used up or the disk is nearly full. */
  countedMs: 1_000,
  countedSeldomMs: 60_000,
  /** Of the disk under the home, or an eighth of it where it is small: below this only what already began is written. */
  diskReserveBytes: 67_108_864,
  diskReservePart: 8,
  diskLookMs: 100,
  callsRememberedPerRun: 200,
  /** Answers of calls that ended, of all runs together; the oldest make room. */
  resultsHeldBytes: 67_108_864,
  /** Calls of one user that wait until a person lets their session begin. */
  callsWaitingPerUid: 128,
  /** Less run time than this is not worth starting a request. */
  callMinimumMs: 50,
  callTimeoutMs: 30_000,
  /** How long whoever unlocks next waits for effects that were on their way when the gateway was locked. */
  lockWaitMs: 30_000,
  /** What fits a small terminal. */
  journalRows: 20,
  /** How much of the log's end is read first for them: more than a writer sets aside there, or it would all be zeros. */
  journalRowsBytes: 2_097_152,
  /** How much of it the console reads first: its charts tell of more than one screen. */
  journalWindowBytes: 8_388_608,
  /** gw doctor speaks up about a backup or a checkpoint that is older. */
  backupOldMs: 7 * 86_400_000,
  checkpointOldMs: 30 * 86_400_000,
  // Requests
  jsonBodyBytes: 262_144,
  jsonDepth: 32,
  multipartBodyBytes: 33_554_432,
  multipartFileBytes: 26_214_400,
  multipartFieldBytes: 65_536,
  multipartHeaderBytes: 2_048,
  formBodyBytes: 65_536,
  formFields: 256,
  queryBytes: 8_192,
  schemaFindings: 32,
  schemaFindingPathLength: 256,
  schemaDepth: 16,
  schemaPatternLength: 256,
  schemaPatternInputLength: 256,
  schemaPatternSize: 4_096,
  /** Choices of all varying elements of a pattern but the one that varies most, multiplied. */
  schemaPatternWork: 1_048_576,
  /** The same with that one: on a long text it is what takes the time. */
  schemaPatternSteps: 1_073_741_824,
  // Responses from providers
  responseBytes: 8_388_608,
  /** Objects and arrays of an answer that is read as JSON: each takes some fifty bytes, and two in the text. */
  jsonContainers: 1_048_576,
  /** An answer that is larger takes a place in the room that all of them share, before more of it is read. */
  smallAnswerBytes: 262_144,
  /** That room: the largest answer fits twice, and with what is made of one on its way the service stays far below its limit. */
  answerRoomBytes: 134_217_728,
  /** Whoever asked for a large answer reads so much of it in so long, or its place goes to others. */
  answerReadMs: 60_000,
  answerReadBytes: 1_048_576,
  /** Of an answer that is passed on as it comes: what waits for a slow reader before the provider has to. */
  streamHeldBytes: 262_144,
  /** The most that a definition may ask for, where its answer is not passed on as it comes. */
  wholeTimeoutMaximumMs: 600_000,
  wholeResponseMaximumBytes: 67_108_864,
  // HTTP transport
  httpConnectMs: 10_000,
  httpIdleMs: 4_000,
  httpEffectIdleMs: 1_000,
  httpConnectionsPerOrigin: 64,
  httpConnections: 512,
  httpResponseHeaderBytes: 32_768,
  dnsKeepMs: 1_000,
  // SQLite
  sqliteBusyMs: 5_000,
  sqliteWalBytes: 67_108_864,
  // Discovery
  pageSize: 50,
  discoveryPages: 10,
  discoveryRecords: 500,
  /** Of all pages of one walk together. */
  discoveryBytes: 8_388_608,
  discoveryCursorCharacters: 4_096,
  listHandleMs: 900_000,
  listHandles: 1_000,
  discoveryLinkCharacters: 8_192,
  // Tickets
  ticketMs: 3_600_000,
  ticketContextCharacters: 32_768,
  ticketEntries: 64,
  ticketEntryCharacters: 2_048,
  ticketStateCharacters: 200,
  /** How long what a ticket service said counts; later it is asked again. */
  ticketObservedMs: 60_000,
  // Approval
  approvalWaitMs: 300_000,
  cardsOpenPerUid: 3,
  cardsWaitingPerUid: 16,
  cardsRemembered: 200,
  denialCoolDownMs: 60_000,
  coolDownsRemembered: 1_000,
  agentHeaderBytes: 16_384,
  agentConnectionsPerUid: 256,
  /** Of one connection of an agent or a provider: whoever sends more before it has answers is let go. */
  planeUnanswered: 64,
  /** In all, where descriptors allow it: each may need so many, and the reserve is for operators, the log and the store. */
  agentConnections: 1_024,
  agentDescriptorsEach: 9,
  descriptorsReserved: 512,
  planeHeadMs: 10_000,
  planeBodyMs: 60_000,
  planeLookMs: 1_000,
  /** How often, and after which pause, an order to lock or to revoke is tried again at a crowded door. */
  orderTries: 200,
  orderPauseMs: 100,
  /** How often, and after which pause, a client knocks again where the queue before the door is full. */
  knockTries: 1_000,
  knockPauseMs: 10,
  /** How long a command waits until the running gateway has read what it wrote. */
  changeSeenMs: 15_000,
  changeLookMs: 50,
  /** How often, and after which pause, a command looks again before it says that something was put back: another one may be at work. */
  copyLooks: 15,
  copyPauseMs: 200,
  filesLooks: 3,
  /** Passkeys belong to an origin, and so to this port. */
  consolePort: 7_717,
  consoleTokenMs: 600_000,
  consoleTokens: 8,
  consolePages: 16,
  consolePageLookMs: 5_000,
  consoleBodyBytes: 65_536,
  consoleConnections: 64,
  /** What may wait for a page that does not read: then it is hung up on, and asks anew when it wakes. */
  consoleUnreadBytes: 8_388_608,
  consoleDrafts: 64,
  consoleDraftMs: 180_000,
  /** How long a page stays in that was let in with a passkey. */
  consoleLoginMs: 28_800_000,
  consoleLoginsBurstPerAddress: 10,
  consoleLoginsPerSecondPerAddress: 0.2,
  consoleLoginsOpenPerAddress: 8,
  consoleLoginsOpen: 1_000,
  consoleLoginsBurst: 60,
  consoleLoginsPerSecond: 2,
  operatorIdleMs: 28_800_000,
  operatorLogins: 64,
  operatorConnections: 128,
  operatorConnectionsPerProcess: 64,
  /** How often, at most, all who wait before the operators' door are looked at. */
  operatorQueueMs: 50,
  challengeMs: 60_000,
  /** The longest that a request on the agent plane may hold its connection for a person. */
  preferWaitMs: 600_000,
  denialsBurst: 50,
  denialsPerSecond: 10,
  /** Requests that were answered, told one by one; past that they are counted. */
  requestsBurst: 1_000,
  requestsPerSecond: 100,
  tokenBytes: 24,
  /** Waits are looked at again after this long, so that boot time decides even when timers were suspended. */
  expiryLookMs: 1_000,
  /** A gateway that is told to end does so within this, before the system's own patience (60 s in the packaged service) is over. */
  stopMostMs: 50_000,
  /** How often somebody whose record must not be lost looks whether the log has room again. */
  logRoomLookMs: 50,
  /** A run that waits for its first call, before a person is asked about both, waits this long. */
  firstCallMs: 30_000,
  // The operator's terminal
  cardSteadyMs: 700,
  /** A desktop that does not take a notice in this time is left alone. */
  notifyMs: 5_000,
  /** A page of a card stays at least this long, so that one burst of keys cannot run through it. */
  cardPageMs: 200,
  /** A program that did not run for this long takes no key that was typed meanwhile. */
  watchStallMs: 600,
  watchTickMs: 100,
  watchPollMs: 5_000,
  watchAnswerMs: 15_000,
  watchRetryFirstMs: 500,
  watchRetryCapMs: 15_000,
  watchExtendSeconds: 300,
  watchReasonCharacters: 400,
  watchGrantCharacters: 1_200,
  /** News of operations on the operator plane: at most one board in this time, and so many rows on it. */
  operationNewsMs: 500,
  operationsShown: 50,
  operationsEndedShown: 10,
  /** A watcher that does not read is let go at this much unread news. It comes back and is told everything. */
  operatorStreamBytes: 4_194_304,
  watchColumns: 60,
  watchRows: 18,
  // MCP: clients give up after 60 s by default, and read lines of up to 10 MB
  mcpWaitMs: 45_000,
  mcpProgressMs: 5_000,
  mcpLookMs: 1_000,
  mcpLineBytes: 1_048_576,
  /** Lines that are taken, one of each connection at a time, before everything else has its turn, and the pause while more wait. */
  mcpLinesATurn: 16,
  mcpBytesATurn: 65_536,
  mcpTurnMs: 4,
  mcpBadLines: 32,
  mcpRequestsOpen: 64,
  mcpSubscriptions: 8,
  mcpResultBytes: 2_097_152,
  mcpAccessRemembered: 64,
  mcpPlansRemembered: 256,
  // Operations
  leaseMs: 30_000,
  pollFirstMs: 2_000,
  pollCapMs: 60_000,
  pollJitter: 0.2,
  /** A provider's Retry-After is followed between these. */
  retryAfterMinimumMs: 1_000,
  retryAfterMaximumMs: 86_400_000,
  /** Deployments kept in memory: the newest of so many environments. All others are looked up when one is named. */
  deploymentsHeld: 1_000,
  /** After a person was asked about a read of the gateway's own, the same read is not asked about for this long. */
  custodyAskGapMs: 600_000,
  /** How often one request without an answer is sent again under its own token, where its provider documents that. */
  tokenRepeats: 3,
  /** Reads that an operation may still make after its session ended. */
  custodianReads: 10,
  /** Reads without a usable answer; a job that still runs does not use these up. */
  pollFaults: 10,
  /** How long the gateway goes on caring for an operation that does not end. */
  operationCareMs: 2_592_000_000,
  operationPollsAtOnce: 32,
  operationPollsPerMinute: 30_000,
  operationsPerRun: 100,
  operationsRemembered: 20_000,
  /** How long runs, plans and operations that have ended stay in the state, to be looked up. */
  endedStateKeptMs: 30 * 24 * 60 * 60 * 1000,
  operationResultBytes: 262_144,
  // Callbacks from providers
  callbackBodyBytes: 65_536,
  callbackHeaderBytes: 16_384,
  callbackConnections: 64,
  callbackConnectionsPerPeer: 16,
  callbackHeadMs: 5_000,
  callbackRequestMs: 10_000,
  callbackLookMs: 1_000,
  callbackIdleMs: 5_000,
  /** From one peer, and from all together; a proxy in front is one peer. */
  callbacksBurstPerPeer: 60,
  callbacksPerSecondPerPeer: 20,
  callbacksBurst: 240,
  callbacksPerSecond: 80,
  callbackPeersRemembered: 1_024,
  /** Reads that callbacks may ask for beside the schedule, for one operation and for all. */
  callbackReads: 6,
  callbackReadGapMs: 2_000,
  callbackReadsPerMinute: 6_000,
  /** Event identifiers kept for each pack. */
  callbackEventsRemembered: 512,
  callbacksEarly: 256,
  callbackEarlyMs: 120_000,
  /** Operations that one callback may be about. */
  callbackOperations: 8,
  // URLs
  urlCharacters: 8_192,
  urlTemplateCharacters: 1_024,
  redirectsFollowed: 3,
  // Upgrade reviews
  upgradeDocumentBytes: 16_777_216,
  upgradeDocumentDepth: 200,
  upgradeDocumentNodes: 3_000_000,
  upgradeOperations: 5_000,
  upgradeDifferences: 50_000,
  upgradeReviewMs: 120_000,
  upgradeReviewHeapMb: 3_072,
  upgradeReviewFileBytes: 16_777_216,
  upgradeReportBytes: 268_435_456,
  upgradeCorpusBytes: 1_048_576,
  upgradeProbes: 500,
  upgradeProbeSideEffects: 5,
  upgradeProbeRunMs: 1_800_000,
  upgradeProbesOpen: 4,
  // Vault: Argon2id floor for new slots, ceiling for what a file may ask
  kdfMemoryKib: 65_536,
  kdfPasses: 3,
  kdfLanes: 4,
  kdfMemoryKibMax: 1_048_576,
  kdfPassesMax: 16,
  kdfLanesMax: 16,
  passphraseCharacters: 12,
  passphraseWords: 6,
  pinDigits: 4,
  pinDigitsMax: 12,
  pinWrong: 5,
  loginMs: 900_000,
  loginMsMax: 43_200_000,
  /** How often the program behind gw login looks at the clocks, and how far they part when the machine slept. */
  loginLookMs: 500,
  loginSleptMs: 1_500,
  loginConnections: 16,
  loginRequestBytes: 2_048,
  passphraseFreeTries: 3,
  passphraseDelayCapMs: 30_000,
  logPartBytes: 1_048_576,
  /** What is read of a backup before anything in it is believed: the vault's own file, escaped, and the readers. */
  backupHeaderBytes: 16_777_216,
  backupFiles: 1_000_000,
  vaultFileBytes: 4_194_304,
  policyFileBytes: 1_048_576,
  vaultOperators: 64,
  vaultLineage: 512,
  vaultCredentials: 1_024,
  vaultBindings: 32,
  vaultRetired: 32,
  secretBytes: 16_384,
  secretBytesMin: 8,
  /** What is looked for in an answer that brought new secrets: more would hold up everybody else, and is no secret. */
  mintedTexts: 32,
  vaultLockWaitMs: 5_000,
  // Tokens that are got in exchange for a credential
  tokenScopes: 128,
  tokenAuthorityBytes: 65_536,
  /** How long one exchange may take, and what is read of its answer. */
  tokenExchangeMs: 20_000,
  tokenAnswerBytes: 65_536,
  accessTokenBytes: 16_384,
  /** Of a token that does not say how long it lives; and of one that says it lives for longer than this. */
  tokenLifeMs: 300_000,
  tokenLifeMaxMs: 86_400_000,
  /** One that lives for less has ended before it could be sent. */
  tokenLifeMinMs: 1_000,
  /** A token this close to its end is no longer lent; a fifth of its life where that is shorter. */
  tokenMarginMs: 60_000,
  /** Between failed exchanges of one credential: doubled each time, up to the second. */
  tokenRetryMs: 1_000,
  tokenRetryMaxMs: 300_000,
  tokensHeld: 256,
  /** For how long a signature in a query is good. */
  presignedS: 60,
  /** How far a provider's clock may be from ours for its Date to count. */
  tokenSkewMs: 86_400_000,
  /** A provider whose clock is further from ours than we knew may have refused for that alone. */
  tokenClockMs: 60_000,
  /** A secret that a source makes anew each time is not made again before this, whoever refuses it. */
  sourceRenewMs: 60_000,
  /** For how long what a source gave is lent. */
  sourceLeaseS: 300,
  /** How long a command may take that prints a secret. */
  sourceCommandMs: 10_000,
  /** For a store to end what it made: a lock or a stop waits for that behind its back. */
  sourceEndMs: 5_000,
  /** A certificate that ends within this is told by gw doctor. */
  certificateSoonMs: 30 * 86_400_000,
  /** How long a person who logs in has to agree, and how often a provider that says nothing else is asked whether they did. */
  loginWaitMs: 900_000,
  devicePollMs: 5_000,
  /** A public document that an operator's command fetches. */
  documentMs: 15_000,
  documentBytes: 262_144,
  // Callers
  callerImageBytes: 536_870_912,
  /** For one image file: one whose file system does not answer is refused, and keeps nobody else waiting. */
  callerImageMs: 60_000,
  identWaitMs: 4_000,
  /** In place, where the kernel does not report exec: it holds up the loop, and then not again for identQuietMs. */
  identLookMs: 500,
  identQuietMs: 10_000,
  publicKeyFileBytes: 16_384,
  authorityFileBytes: 1_048_576,
  sigstoreFileBytes: 1_048_576,
  // Audit log
  logSegmentBytes: 67_108_864,
  logFrameBytes: 1_048_576,
  /** How long an operator's commands check only what is new in the log. */
  logCheckMs: 86_400_000,
  /** Characters of one part of a content: six times as many at most once they are escaped. */
  logContentUnits: 10_000,
  logInlineUnits: 4_000,
  logRecordBytes: 65_536,
  logQueueBytes: 8_388_608,
  logSpaceBytes: 1_048_576,
  logSealTickMs: 100,
  logSealBusyMs: 1_000,
  logHeartbeatMs: 300_000,
  logInlineFlushMs: 0.25,
  logGatherTurns: 4,
  logGatherShare: 0.6,
  // Numbers for machines: so many values of one label, the rest together
  metricLabels: 200,
  /** A service manager that did not take our word is told again after this. */
  notifyAgainMs: 200,
  /** A log that was written so far in the future means that the clock was set back. */
  clockSetBackMs: 60_000,
  clockLookMs: 5_000,
  // Action packs
  packBytes: 262_144,
  packDepth: 24,
  packFindings: 64,
  packActions: 500,
  /** What a drafted pack says where the document says nothing. */
  packDraftTextLength: 1_024,
  packDraftItems: 100,
  packDraftValues: 200,
  packDraftDepth: 4,
  packDraftParts: 500,
  packDraftInputs: 64,
  packDraftNotes: 12,
  jobCreateDeadlineMs: 30_000,
  jobResultDeadlineMs: 600_000,
  jobChecks: 30,
  // Plans and tokens of a provider
  planMs: 900_000,
  /** How often a plan that a provider is still making is looked for. */
  previewChecks: 30,
  planMaximumMs: 3_600_000,
  /** Entries of one list in a preview, and bytes of the whole: a person reads all of it on a card. */
  previewEntries: 500,
  previewBytes: 65_536,
  plansPerRun: 32,
  plansPerPrincipal: 64,
  planSample: 10,
  idempotencyRetentionMs: 2_592_000_000,
  webhookToleranceS: 300,
  // The reference provider
  referencePageMaximum: 200,
  referenceEffectsPage: 100,
  referenceCursorCharacters: 1_024,
  referenceTokenMs: 3_600_000,
  /** For how long a signed request is good at the reference provider, either way of its clock. */
  referenceSignatureS: 60,
  referenceTokenCharacters: 4_096,
  referenceTokensRemembered: 1_000,
  referenceRolloutMs: 5_000,
  referenceJobMs: 6_000,
  referenceDeploymentMs: 4_000,
  referenceCapabilityMs: 86_400_000,
  referenceIdleMs: 3_600_000,
  referenceLateMs: 1_000,
  referenceDeliveryMs: 5_000,
  referenceDeliveries: 8,
  referenceDeliveryBackoffMs: 500,
  referenceFaultsArmed: 32,
  // The conformance kit
  conformanceTimeoutMs: 15_000,
  conformanceReplyBytes: 1_048_576,
  // The hub
  hubConnectMs: 5_000,
  hubQueryMs: 20_000,
  /** Frames of so long a time go up together; under load a part is full before that. */
  hubGatherMs: 250,
  hubPartBytes: 1_048_576,
  /** How often a gateway with nothing to say tells the hub that it lives, and after how long a silence others say so. */
  hubBeatMs: 5_000,
  hubSilentMs: 20_000,
  /** How long a send waits for its intent to be on the hub, and a read for its record, before it is asked what to do without. */
  hubWaitMs: 5_000,
  hubAgainMs: 250,
  /** How long whoever signs waits for what the hub has of the signed files, and then for it to have what was signed. */
  hubFollowMs: 5_000,
  /** How far the database's clock and ours may be apart where both have to agree on the day. */
  hubClockMs: 120_000,
  /** How long what nobody waits for waits for something that somebody does, to be one word with it. */
  hubStateGatherMs: 25,
  /** How many sends are counted together, how long after a lost race one waits at most, and how many days are kept. */
  hubLimitBatch: 256,
  hubLimitSpreadMs: 16,
  /** A refresh token, sealed to 255 gateways, and how often somebody who waits for a turn looks. */
  hubTurnBytes: 65_536,
  hubTurnLookMs: 100,
  /** After how long a gateway looks no more whether it is its turn: what another one exchanges has ended by then, or its word is not taken. */
  hubTurnMs: 20_000,
  hubLimitDays: 8,
  hubAgainCapMs: 5_000,
  /** How seldom the last tick is written down: a restart after a kill may know one that is so much older. */
  hubRememberMs: 1_000,
  /** What a stopping gateway gives its last frames to reach the hub. */
  hubLastMs: 3_000,
  hubSecretsBytes: 49_152,
  hubAuthorityBytes: 32_768,
  hubStatementBytes: 4_096,
  /** Most that one question to the database is answered with, on the wire. */
  hubReplyBytes: 100_663_296,
  hubGateways: 4_096,
  /** Of one gateway: what it has under way, and the claims to it. */
  hubStateRows: 16_384,
  /** All of them together: on the wire they are twice as long, and have to fit into one answer. */
  hubStateBytes: 41_943_040,
  /** Terms that one taking over takes along: their names fit into its statement. */
  hubTermsAlong: 16,
  /** How long a statement that was answered stays for whoever asks late, and how many are taken at one look. */
  /** How many of its open operations a gateway shows on the hub, the most urgent first. */
  hubOperationsShown: 32,
  hubSessionsShown: 32,
  /** Of how many questions that are over a gateway shows there how they ended. */
  hubEndingsShown: 32,
  hubAnswersHours: 24,
  /** How old a signed errand on an operation may be when it is taken. */
  errandMs: 86_400_000,
  /** How long others who speak to a gateway on the hub wait for an errand that is on its way to a provider. */
  hubErrandMs: 3_000,
  hubStatementsALook: 64,
  /** What an operator's statement may be long: a decision with a ticket and a passkey's answer. */
  hubOrderBytes: 65_536,
  /** A signed policy on its way to the gateways, sealed and in base64. */
  hubPolicyOrderBytes: 12_582_912,
  /** How long a command waits for the gateway's answer. */
  hubAnswerMs: 30_000,
  hubCardBytes: 4_194_304,
  /** The largest sealed file that is read from there, and how many rows of them in one look. */
  hubDocumentBytes: 8_388_608,
  hubDocumentsALook: 64,
  // SSH
  sshConnectTimeoutMs: 10_000,
  sshRecordingBytes: 1_048_576,
  /** How long large output waits for room: half as long as a receiver waits for us to read its last frame. */
  sshRoomWaitMs: 5_000,
  sshSpareHelperMs: 60_000,
  /** Connections under way, each of which is two processes of ours: all of them stay far below the limits of the service. */
  sshAtOnce: 16,
  sshProbeWaitMs: 20_000,
  // Contained runs: the way out of a box
  boxDatagramBytes: 1_232,
  boxNames: 131_070,
  boxHeadBytes: 32_768,
  boxHeaders: 128,
  /** In base64, and with its head, it fits into `containedRequestBytes`. */
  boxBodyBytes: 8_388_608,
  /** What a contained run that learns keeps of refused requests, in all. */
  learnedBytes: 16 * 1024 * 1024,
  /** Refusals of the wrapper's own that are on their way to the log at once. */
  boxReportsAtOnce: 4,
  boxConnections: 512,
  boxRelayed: 64,
  boxRequestsAtOnce: 64,
  boxHandshakeMs: 10_000,
  boxHeadMs: 20_000,
  boxIdleMs: 60_000,
  boxReadyMs: 30_000,
  boxFolderBytes: 1_073_741_824,
} as const;
