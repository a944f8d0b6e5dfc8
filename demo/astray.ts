/** The story did not go as it was told. */
export class Astray extends Error {
  override readonly name = "Astray";
}

/** This machine has not what a scene needs; the message says what. */
export class Skipped extends Error {
  override readonly name = "Skipped";
}
