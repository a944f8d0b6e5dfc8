/** Every number that a person might tune, with its unit in its name. Rooms take these as arguments where it matters. */
export const defaults = {
  // Runs
  runAttempts: 40,
  runDurationMs: 600_000,
  runSpendCents: 0,
  runSideEffects: 5,
  // Requests
  jsonBodyBytes: 262_144,
  jsonDepth: 32,
  multipartBodyBytes: 33_554_432,
  multipartFileBytes: 26_214_400,
  schemaFindings: 32,
  schemaFindingPathLength: 256,
  schemaDepth: 16,
  schemaPatternLength: 256,
  schemaPatternInputLength: 256,
  schemaPatternSize: 4_096,
  schemaPatternWork: 1_048_576,
  // Responses from providers
  responseBytes: 8_388_608,
  // Discovery
  pageSize: 50,
  discoveryPages: 10,
  discoveryRecords: 500,
  // Approval
  approvalWaitMs: 300_000,
  // Operations
  leaseMs: 30_000,
  pollFirstMs: 2_000,
  pollCapMs: 60_000,
  pollJitter: 0.2,
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
  upgradeCorpusBytes: 1_048_576,
  upgradeProbes: 500,
  upgradeProbeSideEffects: 5,
} as const;
